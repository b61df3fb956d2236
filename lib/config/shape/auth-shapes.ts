// What users write to say who may call: tokens, API keys, passwords, and rules over what they claim.

import { z } from 'zod'
import type { CredentialLocation } from '../policy-types.ts'
import {
  duration,
  exactlyOneOf,
  expressionAt,
  headerName,
  httpUrl,
  nonEmptyText,
  oneFormOf,
  optionalOrNull,
  refusedField,
  secretText,
} from './value-shapes.ts'
import type { AuthorizationRule } from '../../expressions/rules.ts'

const location = exactlyOneOf({
  header: z.strictObject({
    name: headerName.describe('Name of the header'),
    prefix: z
      .string()
      .default('')
      .describe('What stands before the credential, such as `Bearer `, in any case'),
  }),
  queryParameter: z.strictObject({ name: nonEmptyText.describe('Name of the parameter') }),
  cookie: z.strictObject({
    name: nonEmptyText
      .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'expected a cookie name')
      .describe('Name of the cookie'),
  }),
  expression: expressionAt('transformation').describe(
    'CEL; a verified credential is taken off the request where its text is all of a header, cookie or parameter',
  ),
})
  .transform((written): CredentialLocation => {
    if (written.header !== undefined) return { kind: 'header', ...written.header }
    if (written.queryParameter !== undefined) return { kind: 'query', ...written.queryParameter }
    if (written.cookie !== undefined) return { kind: 'cookie', ...written.cookie }
    return { kind: 'expression', expression: written.expression! }
  })
  .meta({
    id: 'CredentialLocation',
    description: 'Where the credential stands; default the `authorization` header',
  })

const jwks = oneFormOf(
  [nonEmptyText, z.strictObject({ url: httpUrl }), z.strictObject({ file: nonEmptyText })],
  'expected a URL, a file, JSON, or an object with one of url and file',
).describe('Key set: a URL, a file, JSON, `{url}` or `{file}`')

export type JwksShape = z.output<typeof jwks>

const jwtValidationOptions = z.strictObject({
  requiredClaims: z.array(nonEmptyText).default(['exp']).describe('Claims a token must carry'),
  leeway: duration.default(60_000).meta({ description: 'Clock difference', preset: '60s' }),
})

const issuer = httpUrl.describe('Equals the `iss` claim of accepted tokens')
const audiences = z.array(nonEmptyText).min(1).describe('Accepted values of the `aud` claim')

function mode<Default extends 'strict' | 'optional'>(preset: Default) {
  return z
    .enum(['strict', 'optional', 'permissive'])
    .default(preset)
    .describe(
      '`strict`: a valid one is needed; `optional`: none is fine, a bad one is not; `permissive`: never refuses, and passes bad ones on',
    )
}

/** Other URLs are made from it, and documents name it byte for byte (RFC 8414 2, RFC 9728 1.2). */
const identifier = httpUrl.refine((value) => !/[?#]/.test(value), {
  error: 'got a URL with a query or fragment, expected none: others are made from it',
})

/** RFC 6749 3.3; it also stands in a quoted part of a header. */
const scope = z.string().regex(/^[!#-[\]-~]+$/, {
  error: ({ input }) =>
    `got '${String(input)}', expected a scope: letters and signs without space, quote or backslash`,
})

const OTHER = refusedField(
  "is not supported, expected one of 'idp_realm', 'idp_tenant', 'auth0', or no provider for one without quirks",
)

const provider = z
  .strictObject({
    idp_realm: z.strictObject({}).optional().describe('Provider with realms'),
    idp_tenant: z.strictObject({}).optional().describe('Provider with tenants'),
    auth0: z.strictObject({}).optional().describe('Provider that wants an `audience`'),
    keycloak: refusedField("is not supported by this name, expected 'idp_realm'"),
    entra: refusedField("is not supported by this name, expected 'idp_tenant'"),
    okta: OTHER,
    descope: OTHER,
    authentik: OTHER,
  })
  .refine((value) => Object.keys(value).length < 2, {
    error: ({ input }) =>
      `got ${Object.keys(input as object).join(' and ')}, expected at most one of them`,
  })
  .transform(({ idp_realm, idp_tenant, auth0 }) => {
    if (idp_realm !== undefined) return 'idp_realm'
    if (idp_tenant !== undefined) return 'idp_tenant'
    return auth0 === undefined ? null : 'auth0'
  })
  .describe('Adapter for the identity provider: `idp_realm: {}`, `idp_tenant: {}` or `auth0: {}`')

const resourceMetadata = z.strictObject({
  resource: identifier.describe('Canonical URL of the protected MCP resource'),
  scopesSupported: optionalOrNull(z.array(scope)).describe('Scopes advertised to clients'),
  bearerMethodsSupported: optionalOrNull(z.array(z.literal('header'))).describe(
    'How tokens are sent',
  ),
  resourceName: optionalOrNull(nonEmptyText).describe('Name for people'),
  resourceDocumentation: optionalOrNull(httpUrl).describe('Page for developers'),
  resourcePolicyUri: optionalOrNull(httpUrl).describe('Page about the use of data'),
  resourceTosUri: optionalOrNull(httpUrl).describe('Page with the terms of service'),
})

export const MCP_AUTHENTICATION = z
  .strictObject({
    mode: mode('strict'),
    issuer: identifier.describe('Equals the `iss` claim of accepted tokens'),
    audiences,
    provider: provider.optional(),
    issuerMode: z
      .enum(['gateway', 'provider'])
      .default('gateway')
      .describe(
        'Which authorization server clients are sent to: the gateway, or the provider itself',
      ),
    jwks: jwks
      .optional()
      .describe(
        'Key set: a URL, a file, JSON, `{url}` or `{file}`; default where the provider has it',
      ),
    clientId: optionalOrNull(nonEmptyText).describe(
      'Client id the gateway answers registrations with',
    ),
    clientSecret: optionalOrNull(secretText).describe(
      'Secret of a confidential client of `idp_tenant`',
    ),
    resourceMetadata: resourceMetadata.describe('What clients learn about the resource'),
    authorizationLocation: location.optional(),
    jwtValidationOptions: jwtValidationOptions.optional(),
  })
  .refine(({ clientSecret, provider: kind }) => clientSecret === null || kind === 'idp_tenant', {
    error: 'got a clientSecret, expected it only with provider.idp_tenant',
    path: ['clientSecret'],
  })
  .refine(({ clientSecret, clientId }) => clientSecret === null || clientId !== null, {
    error: 'got a clientSecret without clientId, expected both',
    path: ['clientSecret'],
  })
  .refine(({ issuerMode, provider: kind }) => issuerMode === 'gateway' || kind !== 'idp_tenant', {
    error: 'got provider, expected gateway: clients cannot register with idp_tenant themselves',
    path: ['issuerMode'],
  })
  .refine(({ issuer: url, provider: kind }) => kind !== 'idp_tenant' || hasTenant(url), {
    error: 'got an issuer without a tenant, expected it in the path, as idp_tenant needs it',
    path: ['issuer'],
  })
  .meta({ id: 'McpAuthentication', description: 'OAuth 2.0 bearer tokens in front of MCP' })

function hasTenant(url: string): boolean {
  return !URL.canParse(url) || new URL(url).pathname.split('/').some((part) => part !== '')
}

const tokenSource = z.strictObject({
  issuer,
  audiences: audiences
    .optional()
    .describe('Accepted values of the `aud` claim; without it tokens for anybody are accepted'),
  jwks,
  jwtValidationOptions: jwtValidationOptions.optional(),
})

function jwtAuth<Default extends 'strict' | 'optional'>(preset: Default) {
  const ways = { mode: mode(preset), location: location.optional() }
  return oneFormOf(
    [
      z.strictObject({ ...ways, ...tokenSource.shape }),
      z.strictObject({ ...ways, providers: z.array(tokenSource).min(1) }),
    ],
    'expected an object with issuer and jwks, or with providers',
  )
}

export const JWT_AUTH = jwtAuth('optional').meta({
  id: 'JwtAuth',
  description: 'Bearer tokens in front of anything',
})

/** In front of the web UI nobody would look for a credential that may be missing. */
export const UI_JWT_AUTH = jwtAuth('strict').meta({
  id: 'UiJwtAuth',
  description: 'Bearer tokens, as JwtAuth; default mode `strict`',
})

const apiKeyEntry = z
  .strictObject({
    key: nonEmptyText.optional().describe('The key itself'),
    keyHash: z
      .string()
      .regex(/^sha256:[0-9A-Fa-f]{64}$/, "expected 'sha256:' and 64 hex digits")
      .optional()
      .describe('Or its hash: `sha256:<hex>`'),
    metadata: z
      .record(z.string(), z.unknown())
      .default({})
      .describe('Readable as `apiKey.<field>` in expressions'),
    allowedModels: optionalOrNull(z.array(nonEmptyText)).describe(
      'Models this key may ask for; default any',
    ),
  })
  .refine(({ key, keyHash }) => (key === undefined) !== (keyHash === undefined), {
    error: "expected exactly one of 'key', 'keyHash'",
  })

function apiKey<Default extends 'strict' | 'optional'>(preset: Default) {
  return z.strictObject({
    keys: z.array(apiKeyEntry).min(1).describe('Accepted keys'),
    mode: mode(preset),
    location: location.optional(),
  })
}

export const API_KEY = apiKey('optional').meta({
  id: 'ApiKey',
  description: 'Keys that are known by heart',
})

export const UI_API_KEY = apiKey('strict').meta({
  id: 'UiApiKey',
  description: 'Keys, as ApiKey; default mode `strict`',
})

export const BASIC_AUTH = z
  .strictObject({
    htpasswd: oneFormOf(
      [nonEmptyText, z.strictObject({ file: nonEmptyText })],
      'expected lines of user:hash, or an object with file',
    ).describe('Lines of `user:hash`, or `{file}`'),
    realm: nonEmptyText
      .regex(/^[ !#-[\]-~]+$/, 'expected plain letters')
      .default('Restricted')
      .describe('Realm of the challenge'),
    mode: z.enum(['strict', 'optional']).default('strict').describe('`optional`: none is fine'),
    authorizationLocation: location.optional(),
  })
  .meta({ id: 'BasicAuth', description: 'User names and passwords' })

/** Plain text must hold, as `require`: spec.md §2.3. */
function rulesOf() {
  const one = expressionAt('rule')
  return z
    .array(
      oneFormOf(
        [one, exactlyOneOf({ allow: one, deny: one, require: one })],
        "expected CEL, or an object with one of 'allow', 'deny', 'require'",
      ),
    )
    .min(1)
    .transform((rules) =>
      rules.map((rule): AuthorizationRule => {
        if ('source' in rule) return { mode: 'require', expression: rule }
        if (rule.allow !== undefined) return { mode: 'allow', expression: rule.allow }
        if (rule.deny !== undefined) return { mode: 'deny', expression: rule.deny }
        return { mode: 'require', expression: rule.require! }
      }),
    )
    .describe('CEL; plain text must hold, or objects `{allow}`, `{deny}`, `{require}`')
}

export const AUTHORIZATION = z
  .strictObject({ rules: rulesOf() })
  .meta({ id: 'Authorization', description: 'Rules over token claims and the request' })

export const MCP_AUTHORIZATION = z
  .strictObject({ rules: rulesOf() })
  .meta({ id: 'McpAuthorization', description: 'Rules per tool, prompt and resource' })
