"""The specification of the classic consumer group: state, rules, versions, instances."""
