// Package crash kills, starves and crowds Carrel, and holds what is left against
// what was acknowledged. It has tests only:
//
//   - TestKills ends the program at random moments under load;
//   - TestSteps has a process end itself at every numbered step of an append and a
//     commit, once each, and fails if one is not reached;
//   - TestFullDisk and its neighbours take the disk, the rights or the branch's
//     lock away and give them back;
//   - TestProcesses opens one data directory ten times at once and works in it.
//
// In all of them other processes are alive on the same data directory and go on.
// What must hold: nothing acknowledged is lost, nothing is done twice, nothing is
// done by half, no deleted file returns, git fsck has nothing to say, and what
// was in the way is forgotten once it is gone.
package crash
