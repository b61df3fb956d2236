// Shapes of authentication and authorization policies: tokens, API keys, passwords and rules.

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
    name: headerName.describe('Name of the header.'),
    prefix: z
      .string()
      .default('')
      .describe('Prefix of the credential, such as `Bearer `; its case is ignored.'),
  }),
  queryParameter: z.strictObject({ name: nonEmptyText.describe('Name of the query parameter.') }),
  cookie: z.strictObject({
    name: nonEmptyText
      .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'expected a cookie name')
      .describe('Name of the cookie.'),
  }),
  expression: expressionAt('transformation').describe(
    'CEL expression for the credential; a verified credential is removed from the request if it is the whole value of a header, cookie or parameter.',
  ),
})
  .transform((fields): CredentialLocation => {
    if (fields.header !== undefined) return { kind: 'header', ...fields.header }
    if (fields.queryParameter !== undefined) return { kind: 'query', ...fields.queryParameter }
    if (fields.cookie !== undefined) return { kind: 'cookie', ...fields.cookie }
    return { kind: 'expression', expression: fields.expression! }
  })
  .meta({
    id: 'CredentialLocation',
    description: 'Location of the credential; the default is the `authorization` header.',
  })

const jwks = oneFormOf(
  [nonEmptyText, z.strictObject({ url: httpUrl }), z.strictObject({ file: nonEmptyText })],
  'expected a URL, a file, JSON, or an object with one of url and file',
).describe('Key set as a URL, a file, JSON, `{url}` or `{file}`.')

export type JwksShape = z.output<typeof jwks>

const jwtValidationOptions = z.strictObject({
  requiredClaims: z.array(nonEmptyText).default(['exp']).describe('Claims that a token must have.'),
  leeway: duration
    .default(60_000)
    .meta({ description: 'Tolerated clock difference.', preset: '60s' }),
})

/** RFC 7519 4.1.1: any string; no URL is derived from it, because `jwks` is required. */
const issuer = nonEmptyText.describe(
  'Issuer of accepted tokens; it must equal their `iss` claim, and need not be a URL.',
)
const audiences = z.array(nonEmptyText).min(1).describe('Accepted values of the `aud` claim.')

function mode<Default extends 'strict' | 'optional'>(preset: Default) {
  return z
    .enum(['strict', 'optional', 'permissive'])
    .default(preset)
    .describe(
      '`strict` requires a valid credential; `optional` also accepts requests without one; `permissive` never refuses, and forwards invalid credentials.',
    )
}

/** Other URLs are derived from it, and documents contain it byte for byte (RFC 8414 2, RFC 9728 1.2). */
const identifier = httpUrl.refine((value) => !/[?#]/.test(value), {
  error: 'got a URL with a query or fragment, expected none: other URLs are derived from it',
})

/** A scope of RFC 6749 3.3; it also appears in a quoted string of a header. */
const scope = z.string().regex(/^[!#-[\]-~]+$/, {
  error: ({ input }) =>
    `got '${String(input)}', expected a scope without space, quote or backslash`,
})

const UNSUPPORTED_PROVIDER = refusedField(
  "is not supported, expected one of 'idp_realm', 'idp_tenant', 'auth0', or no provider for a standard identity provider",
)

const provider = z
  .strictObject({
    idp_realm: z.strictObject({}).optional().describe('Identity provider with realms.'),
    idp_tenant: z.strictObject({}).optional().describe('Identity provider with tenants.'),
    auth0: z
      .strictObject({})
      .optional()
      .describe('Identity provider that needs an `audience` parameter.'),
    keycloak: refusedField("is not supported by this name, expected 'idp_realm'"),
    entra: refusedField("is not supported by this name, expected 'idp_tenant'"),
    okta: UNSUPPORTED_PROVIDER,
    descope: UNSUPPORTED_PROVIDER,
    authentik: UNSUPPORTED_PROVIDER,
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
  .describe('Adapter for the identity provider: `idp_realm: {}`, `idp_tenant: {}` or `auth0: {}`.')

const resourceMetadata = z.strictObject({
  resource: identifier.describe('Canonical URL of the protected MCP resource.'),
  scopesSupported: optionalOrNull(z.array(scope)).describe(
    'Scopes that are advertised to clients.',
  ),
  bearerMethodsSupported: optionalOrNull(z.array(nonEmptyText)).describe(
    'Ways to send tokens that are advertised; where tokens are accepted does not depend on it.',
  ),
  resourceName: optionalOrNull(nonEmptyText).describe('Human-readable name of the resource.'),
  resourceDocumentation: optionalOrNull(httpUrl).describe('URL of the developer documentation.'),
  resourcePolicyUri: optionalOrNull(httpUrl).describe('URL of the data use policy.'),
  resourceTosUri: optionalOrNull(httpUrl).describe('URL of the terms of service.'),
})

export const MCP_AUTHENTICATION = z
  .strictObject({
    mode: mode('strict'),
    issuer: identifier.describe('Issuer of accepted tokens; it must equal their `iss` claim.'),
    audiences,
    provider: provider.optional(),
    issuerMode: z
      .enum(['gateway', 'provider'])
      .default('gateway')
      .describe(
        'Authorization server that clients are directed to: the gateway or the identity provider.',
      ),
    jwks: jwks
      .optional()
      .describe(
        'Key set as a URL, a file, JSON, `{url}` or `{file}`; the default is the location of the identity provider.',
      ),
    clientId: optionalOrNull(nonEmptyText).describe(
      'Client id that the gateway returns for client registrations.',
    ),
    clientSecret: optionalOrNull(secretText).describe(
      'Secret of a confidential client; only with `idp_tenant`.',
    ),
    requirePkce: z
      .enum(['authorize', 'strict'])
      .default('authorize')
      .describe(
        'Where `idp_tenant` requires PKCE: `authorize` refuses logins without an S256 `code_challenge`, `strict` also sends the secret only with a `code_verifier`.',
      ),
    resourceMetadata: resourceMetadata.describe(
      'Fields of the protected resource metadata document.',
    ),
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
    error: 'got an issuer without a tenant, expected the tenant in its path for idp_tenant',
    path: ['issuer'],
  })
  .meta({
    id: 'McpAuthentication',
    description: 'Authentication of MCP clients with OAuth 2.0 bearer tokens.',
  })

function hasTenant(url: string): boolean {
  return !URL.canParse(url) || new URL(url).pathname.split('/').some((part) => part !== '')
}

const tokenSource = z.strictObject({
  issuer,
  audiences: audiences
    .optional()
    .describe('Accepted values of the `aud` claim; the default is any audience.'),
  jwks,
  jwtValidationOptions: jwtValidationOptions.optional(),
})

function jwtAuth<Default extends 'strict' | 'optional'>(preset: Default) {
  const fields = { mode: mode(preset), location: location.optional() }
  return oneFormOf(
    [
      z.strictObject({ ...fields, ...tokenSource.shape }),
      z.strictObject({ ...fields, providers: z.array(tokenSource).min(1) }),
    ],
    'expected an object with issuer and jwks, or with providers',
  )
}

export const JWT_AUTH = jwtAuth('optional').meta({
  id: 'JwtAuth',
  description: 'Authentication with JWT bearer tokens.',
})

/** For the web UI the default mode is strict, because an operator does not expect an optional credential there. */
export const UI_JWT_AUTH = jwtAuth('strict').meta({
  id: 'UiJwtAuth',
  description: 'Authentication with JWT bearer tokens, as JwtAuth; the default mode is `strict`.',
})

const apiKeyEntry = z
  .strictObject({
    key: nonEmptyText.optional().describe('Key in plain text; set either this or `keyHash`.'),
    keyHash: z
      .string()
      .regex(/^sha256:[0-9A-Fa-f]{64}$/, "expected 'sha256:' and 64 hex digits")
      .optional()
      .describe('Hash of the key: `sha256:<hex>`.'),
    metadata: z
      .record(z.string(), z.unknown())
      .default({})
      .describe('Fields that expressions read as `apiKey.<field>`.'),
    allowedModels: optionalOrNull(z.array(nonEmptyText)).describe(
      'Models that this key may use; the default is any.',
    ),
  })
  .refine(({ key, keyHash }) => (key === undefined) !== (keyHash === undefined), {
    error: "expected exactly one of 'key', 'keyHash'",
  })

function apiKey<Default extends 'strict' | 'optional'>(preset: Default) {
  return z.strictObject({
    keys: z.array(apiKeyEntry).min(1).describe('Accepted keys.'),
    mode: mode(preset),
    location: location
      .optional()
      .describe(
        'Location of the key; the default is any of `authorization: Bearer`, `x-api-key`, `x-goog-api-key` and `api-key`.',
      ),
  })
}

export const API_KEY = apiKey('optional').meta({
  id: 'ApiKey',
  description: 'Authentication with API keys.',
})

export const UI_API_KEY = apiKey('strict').meta({
  id: 'UiApiKey',
  description: 'Authentication with API keys, as ApiKey; the default mode is `strict`.',
})

export const BASIC_AUTH = z
  .strictObject({
    htpasswd: oneFormOf(
      [nonEmptyText, z.strictObject({ file: nonEmptyText })],
      'expected lines of user:hash, or an object with file',
    ).describe('Users as lines of `user:hash`, or `{file}`.'),
    realm: nonEmptyText
      .regex(/^[ !#-[\]-~]+$/, 'expected printable ASCII without quote and backslash')
      .default('Restricted')
      .describe('Realm of the challenge.'),
    mode: z
      .enum(['strict', 'optional'])
      .default('strict')
      .describe(
        '`strict` requires a valid credential; `optional` also accepts requests without one.',
      ),
    authorizationLocation: location.optional(),
  })
  .meta({ id: 'BasicAuth', description: 'Authentication with user names and passwords.' })

/** `plainMode` is the mode of rules that are plain expressions. */
function rulesOf(plainMode: 'allow' | 'require', description: string) {
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
        if ('source' in rule) return { mode: plainMode, expression: rule }
        if (rule.allow !== undefined) return { mode: 'allow', expression: rule.allow }
        if (rule.deny !== undefined) return { mode: 'deny', expression: rule.deny }
        return { mode: 'require', expression: rule.require! }
      }),
    )
    .describe(description)
}

/** spec.md §2.3: a request is admitted only when the rules hold. */
export const AUTHORIZATION = z
  .strictObject({
    rules: rulesOf(
      'require',
      'Rules as CEL expressions that must all be true, or as objects `{allow}`, `{deny}` or `{require}`.',
    ),
  })
  .meta({
    id: 'Authorization',
    description: 'Authorization rules on token claims and the request.',
  })

/** One rule per tool is usual, so one plain rule that is true admits, as in other gateways. */
export const MCP_AUTHORIZATION = z
  .strictObject({
    rules: rulesOf(
      'allow',
      'Rules as CEL expressions of which one must be true, or as objects `{allow}`, `{deny}` or `{require}`.',
    ),
  })
  .meta({
    id: 'McpAuthorization',
    description: 'Authorization rules for MCP tools, prompts and resources.',
  })
