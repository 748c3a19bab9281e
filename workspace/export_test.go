package workspace

// InMemory reports whether the workspace's state is in memory.
func (w *Workspace) InMemory() bool {
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	return w.live.fails == nil
}
