"""Pictures of recurrent cells. `graph` has their nodes and edges, `layout` their places, and `drawing` draws them."""
