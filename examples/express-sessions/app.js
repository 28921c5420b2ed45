import express from "express";
import session from "express-session";

const MINUTE = 60 * 1000;
const DAY = 24 * 60 * MINUTE;

/** An application that knows who is logged in: for half an hour after the last request, or for 30 days. */
export function createApp({ store, secret }) {
  const app = express();
  app.use(express.json());
  app.use(session({
    store,
    secret,
    resave: false, // a request that changes nothing calls store.touch
    rolling: true, // and renews the cookie, too
    saveUninitialized: false,
    cookie: { maxAge: 30 * MINUTE, sameSite: "lax" },
  }));

  app.post("/login", (req, res, next) => {
    req.session.regenerate((error) => {
      if (error) return next(error);
      req.session.user = req.body.user; // a real one asks for a password
      if (req.body.remember) req.session.cookie.maxAge = 30 * DAY;
      res.sendStatus(204);
    });
  });

  app.get("/me", (req, res) => {
    if (!req.session.user) return res.sendStatus(401);
    res.json({ user: req.session.user });
  });

  app.post("/logout", (req, res, next) => {
    req.session.destroy((error) => (error ? next(error) : res.sendStatus(204)));
  });

  return app;
}
