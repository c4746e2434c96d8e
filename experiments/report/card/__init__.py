"""Evidence card of a run: what was claimed, how it was tested, what it showed, and which hazards that covers."""
