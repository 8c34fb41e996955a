"""The assignment of a group's partitions to its members: functions, and promises to users."""
