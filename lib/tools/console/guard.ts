import { timingSafeEqual } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import { TOKEN_HEADER, TOKEN_PARAMETER } from './page-messages.ts';

/** Allows only the console's own resources, so that markup in a payload stays inert. */
export const pageHeaders: MiddlewareHandler = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    connectSrc: ["'self'"],
    imgSrc: ["'self'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
  crossOriginOpenerPolicy: 'same-origin',
  crossOriginResourcePolicy: 'same-origin',
  referrerPolicy: 'no-referrer',
  xFrameOptions: 'DENY',
  // There is no TLS on loopback.
  strictTransportSecurity: false,
});

/** Refuses requests from other pages: Host shows a name rebound to 127.0.0.1, Origin another site's script. */
export const sameOriginOnly =
  (port: () => number): MiddlewareHandler =>
  async (c, next) => {
    const hosts = [`127.0.0.1:${port()}`, `localhost:${port()}`];
    const host = c.req.header('host') ?? '';
    if (!hosts.includes(host))
      return c.json({ ok: false, message: `Host '${host}' is not this console; use 127.0.0.1` }, 403);
    const origin = c.req.header('origin');
    if (origin !== undefined && origin !== `http://${host}`)
      return c.json({ ok: false, message: 'Requests from other sites are refused' }, 403);
    const site = c.req.header('sec-fetch-site');
    if (site !== undefined && site !== 'same-origin' && site !== 'none' && c.req.method !== 'GET')
      return c.json({ ok: false, message: 'Requests from other sites are refused' }, 403);
    return next();
  };

export const tokenRequired =
  (token: string): MiddlewareHandler =>
  async (c, next) => {
    const given =
      c.req.header(TOKEN_HEADER) ?? (c.req.method === 'GET' ? c.req.query(TOKEN_PARAMETER) : undefined);
    if (given === undefined || !isSame(given, token))
      return c.json(
        { ok: false, message: 'Open the console with the link that was printed in the terminal' },
        401,
      );
    return next();
  };

function isSame(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}
