// Checks authentication policies and reads their key sets and password files.

import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { z } from 'zod'
import { MAX_CEL_JSON_DEPTH } from '../../expressions/meter.ts'
import { jsonToCel } from '../../expressions/json-values.ts'
import { findPublicKeyFault, MIN_RSA_BITS } from '../public-key.ts'
import type { PublicKeyFault } from '../public-key.ts'
import type {
  ApiKeyConfig,
  BasicAuthConfig,
  CredentialLocation,
  JwtAuthConfig,
  KeySet,
  McpAuthenticationConfig,
  PublicKey,
  TokenRules,
} from '../policy-types.ts'
import type { ConfigPath } from '../config-error.ts'
import type {
  API_KEY,
  BASIC_AUTH,
  JWT_AUTH,
  JwksShape,
  MCP_AUTHENTICATION,
} from '../shape/auth-shapes.ts'
import type { CheckContext } from './check-context.ts'
import { parseHtpasswd } from '../htpasswd.ts'

const BEARER: CredentialLocation = { kind: 'header', name: 'authorization', prefix: 'Bearer ' }
/** Where the SDKs of OpenAI, Anthropic, Google and Azure send their key. */
const SDK_KEY_LOCATIONS: readonly CredentialLocation[] = [
  BEARER,
  { kind: 'header', name: 'x-api-key', prefix: '' },
  { kind: 'header', name: 'x-goog-api-key', prefix: '' },
  { kind: 'header', name: 'api-key', prefix: '' },
]
const BASIC = { kind: 'header', name: 'authorization', prefix: 'Basic ' } as const
const DEFAULT_LEEWAY_MS = 60_000

export function checkMcpAuthentication(
  context: CheckContext,
  path: ConfigPath,
  shape: z.output<typeof MCP_AUTHENTICATION>,
): McpAuthenticationConfig {
  warnAboutBearerMethods(context, [...path, 'resourceMetadata', 'bearerMethodsSupported'], shape)
  return {
    ...buildTokenRules(context, path, shape),
    mode: shape.mode,
    location: shape.authorizationLocation ?? BEARER,
    provider: shape.provider ?? null,
    issuerMode: shape.issuerMode,
    clientId: shape.clientId,
    clientSecret: shape.clientSecret,
    requirePkce: shape.requirePkce,
    resourceMetadata: shape.resourceMetadata,
  }
}

/** RFC 9728 names three methods; a client that uses another than the accepted one gets 401. */
function warnAboutBearerMethods(
  context: CheckContext,
  path: ConfigPath,
  { resourceMetadata, authorizationLocation }: z.output<typeof MCP_AUTHENTICATION>,
): void {
  const accepted = authorizationLocation?.kind === 'query' ? 'query' : 'header'
  for (const [at, method] of (resourceMetadata.bearerMethodsSupported ?? []).entries())
    if (method !== accepted)
      context.warn(
        [...path, at],
        `'${method}' is advertised, but tokens are accepted only by the method '${accepted}'`,
      )
}

export function checkJwtAuth(
  context: CheckContext,
  path: ConfigPath,
  shape: z.output<typeof JWT_AUTH>,
): JwtAuthConfig {
  const providers =
    'providers' in shape
      ? checkTokenProviders(context, [...path, 'providers'], shape.providers)
      : [buildTokenRules(context, path, shape)]
  return { mode: shape.mode, location: shape.location ?? BEARER, providers }
}

/** A token is verified by the rules of its issuer, so each issuer may have only one provider. */
function checkTokenProviders(
  context: CheckContext,
  path: ConfigPath,
  shapes: readonly TokenShape[],
): TokenRules[] {
  return shapes.map((one, at) => {
    const first = shapes.findIndex(({ issuer }) => issuer === one.issuer)
    if (first < at)
      context.problem(
        [...path, at, 'issuer'],
        `got the issuer of providers[${first}], expected another: list all audiences there`,
      )
    return buildTokenRules(context, [...path, at], one)
  })
}

interface TokenShape {
  issuer: string
  audiences?: string[] | undefined
  jwks?: JwksShape | undefined
  jwtValidationOptions?: { requiredClaims: string[]; leeway: number } | undefined
}

function buildTokenRules(context: CheckContext, path: ConfigPath, shape: TokenShape): TokenRules {
  const { requiredClaims = ['exp'], leeway = DEFAULT_LEEWAY_MS } = shape.jwtValidationOptions ?? {}
  return {
    issuer: shape.issuer,
    audiences: shape.audiences ?? [],
    jwks: checkKeySet(context, [...path, 'jwks'], shape.jwks),
    requiredClaims,
    leeway,
  }
}

/** A text is JSON, a URL or a file name, depending on how it starts. */
function checkKeySet(
  context: CheckContext,
  path: ConfigPath,
  shape: JwksShape | undefined,
): KeySet {
  if (shape === undefined) return { kind: 'derived' }
  if (typeof shape === 'object' && 'url' in shape) return { kind: 'url', url: shape.url }
  const text = typeof shape === 'string' ? shape : shape.file
  if (typeof shape === 'string') {
    if (/^\s*\{/.test(text)) return { kind: 'keys', keys: checkKeys(context, path, text) }
    if (/^https?:\/\//i.test(text)) {
      if (!URL.canParse(text)) context.problem(path, `got '${text}', expected a URL`)
      else if (new URL(text).username + new URL(text).password !== '')
        context.problem(
          path,
          'got a URL with a user name, expected none: dumps and logs show the URL',
        )
      return { kind: 'url', url: text }
    }
  }
  const [, scheme] = /^([a-z][\w+.-]*):\/\//i.exec(text) ?? []
  if (scheme !== undefined && scheme.toLowerCase() !== 'file') {
    context.problem(path, `got a URL of the scheme '${scheme}', expected http, https or file`)
    return { kind: 'keys', keys: [] }
  }
  const json = context.readFile(path, keyFilePathOf(context, path, text), 'a JSON Web Key Set')
  return { kind: 'keys', keys: json === '' ? [] : checkKeys(context, path, json) }
}

function keyFilePathOf(context: CheckContext, path: ConfigPath, text: string): string {
  if (!text.startsWith('file:')) return text
  try {
    return fileURLToPath(text)
  } catch {
    context.problem(path, `got '${text}', expected a URL such as file:///etc/keys.json`)
    return text
  }
}

function checkKeys(context: CheckContext, path: ConfigPath, text: string): PublicKey[] {
  const fail = (message: string): PublicKey[] => {
    context.problem(path, message)
    return []
  }
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch {
    return fail('got a key set that is not JSON, expected {"keys": […]}')
  }
  const { keys } = (data ?? {}) as { keys?: unknown }
  if (!Array.isArray(keys) || keys.length === 0)
    return fail('got a key set without keys, expected {"keys": […]}')
  const seen = new Map<string, number>()
  for (const [at, key] of keys.entries()) {
    const fault = findPublicKeyFault(key)
    // Key sets of providers also contain keys for other uses.
    if (fault === 'not for signatures') continue
    if (fault !== null) return fail(`key ${at} of the set: ${KEY_FAULTS[fault]}`)
    const { kid } = key as PublicKey
    const first = seen.get(kid)
    if (first !== undefined)
      return fail(`key ${at} of the set: got the kid of key ${first}, expected another`)
    seen.set(kid, at)
  }
  return keys as PublicKey[]
}

/** A verifier needs public keys only, so HMAC keys and private keys are refused. */
const KEY_FAULTS: Readonly<Record<Exclude<PublicKeyFault, 'not for signatures'>, string>> = {
  'no object': 'expected an object',
  'no kid': 'the key is missing the `kid` attribute',
  'key type': 'expected kty to be one of RSA, EC, OKP',
  private: 'got a private key, expected its public part only',
  malformed: 'the key cannot be read, expected a public key',
  'too short': `got a short RSA key, expected at least ${MIN_RSA_BITS} bits`,
}

export function checkApiKey(
  context: CheckContext,
  path: ConfigPath,
  shape: z.output<typeof API_KEY>,
): ApiKeyConfig {
  const seen = new Map<string, number>()
  const keys = shape.keys.map(({ key, keyHash = '', metadata, allowedModels }, at) => {
    const hash =
      key === undefined
        ? keyHash.slice('sha256:'.length).toLowerCase()
        : createHash('sha256').update(key).digest('hex')
    const first = seen.get(hash)
    if (first !== undefined)
      context.problem([...path, 'keys', at], `got the key of keys[${first}], expected another`)
    seen.set(hash, at)
    if (!isReadableByCel(metadata))
      context.problem(
        [...path, 'keys', at, 'metadata'],
        `got metadata that is nested too deep, expected at most ${MAX_CEL_JSON_DEPTH} levels`,
      )
    return { hash, metadata, allowedModels }
  })
  const locations = shape.location === undefined ? SDK_KEY_LOCATIONS : [shape.location]
  return { mode: shape.mode, locations, keys }
}

function isReadableByCel(metadata: unknown): boolean {
  try {
    jsonToCel(metadata)
    return true
  } catch {
    return false
  }
}

export function checkBasicAuth(
  context: CheckContext,
  path: ConfigPath,
  shape: z.output<typeof BASIC_AUTH>,
): BasicAuthConfig {
  const { htpasswd, mode, realm, authorizationLocation } = shape
  const htpasswdPath = [...path, 'htpasswd']
  const text =
    typeof htpasswd === 'string'
      ? htpasswd
      : context.readFile(htpasswdPath, htpasswd.file, 'an htpasswd file')
  const users = parseHtpasswd(text, (message) => context.problem(htpasswdPath, message))
  return { mode, realm, location: basicLocation(authorizationLocation), users }
}

/** In the authorization headers the scheme `Basic ` is required, even if no prefix is configured. */
function basicLocation(location: CredentialLocation = BASIC): CredentialLocation {
  const isAuthorization =
    location.kind === 'header' && /^(?:proxy-)?authorization$/.test(location.name)
  return isAuthorization && location.prefix === ''
    ? { ...location, prefix: BASIC.prefix }
    : location
}
