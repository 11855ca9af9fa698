"""What changed of incidents, told to people and programs: routes, an outbox that forgets nothing, and senders."""
