// Where clients look for documents about authorization, at a host or in front of a path there.

/** RFC 9728. */
export const RESOURCE = '/.well-known/oauth-protected-resource'
/** RFC 8414. */
export const SERVER = '/.well-known/oauth-authorization-server'
/** OpenID Connect Discovery. */
export const OPENID = '/.well-known/openid-configuration'
