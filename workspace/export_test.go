package workspace

// InMemory reports whether the workspace's state is in memory.
func (w *Workspace) InMemory() bool {
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	return w.live.fails == nil
}

// Kept is how many of a project's workspaces take memory.
func (p *Project) Kept() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.live) + len(p.idle)
}

// CatalogVersion is that of the reducer whose checkpoints are taken up.
const CatalogVersion = catalogVersion

// Checkpoint is the catalog as a checkpoint keeps it.
func (c *Catalog) Checkpoint() ([]byte, error) { return c.checkpoint() }
