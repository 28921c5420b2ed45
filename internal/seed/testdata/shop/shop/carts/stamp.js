function stamp() { getContext().getRequest().getBody(); }
