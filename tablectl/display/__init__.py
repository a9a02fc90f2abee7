"""The screens: what people see of the tables, fed from MQTT alone, in a process of its own. It can hurt no table."""
