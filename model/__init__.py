"""The specification: vocabulary, rules, profiles, exploration and the state graph."""
