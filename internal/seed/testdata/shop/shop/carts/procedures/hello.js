function hello() { getContext().getResponse().setBody("hello"); }
