"""Real clusters under test: ZooKeeper and three brokers of Apache Kafka, started for the run."""
