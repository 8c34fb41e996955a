"""The instances that are explored: how many members, which settings, and what clients ask there."""
