"""How sure we are: trials -> scores -> bound -> verdict."""
