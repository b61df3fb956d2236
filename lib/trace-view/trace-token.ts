// The token with which gwctl and the page mark the one request that their trace is for.

/** Carries the token; the gateway removes it before anything else sees the request. */
export const TRACE_TOKEN_HEADER = 'x-gateway-trace'

/** No other client can guess this many random bytes. */
const TOKEN_BYTES = 32

/** A token for one trace, in hexadecimal. */
export function createTraceToken(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(TOKEN_BYTES))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
