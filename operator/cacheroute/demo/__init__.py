"""The demonstration: engines, a gateway, standalone mode and a load of many tenants on one machine."""
