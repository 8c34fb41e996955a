"""A cluster around a group: ZooKeeper, controllers, leaders and topics, as Kafka 2.7 has them."""
