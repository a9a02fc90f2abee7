"""MQTT: notices as messages, and the publisher that carries them from the ledger to the broker."""
