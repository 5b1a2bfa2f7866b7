package playbook

import "txlens/engine/assemble"

// Propose names the playbooks that the evidence and the asker's words suggest,
// most telling first, at most maxProposed. It depends on nothing else.
func (l *Library) Propose(c *assemble.Case, context string) []string { return nil }
