// Client credentials: found at their configured location, removed from the request after verification, and restored or
// replaced for the backend (the backendAuth policy).

import type { BackendAuthConfig } from '../../config/config-types.ts'
import type { CredentialLocation } from '../../config/policy-types.ts'
import type { Exchange, PresentedCredential } from '../../core/exchange.ts'
import type { RequestHead } from '../../core/head.ts'
import type { Policy } from '../../core/types.ts'
import { ExpressionView } from '../../expressions/exchange-view.ts'

/** `several`: there is more than one, so it is unclear which is meant. */
export type FoundCredential =
  | { readonly kind: 'none' }
  | { readonly kind: 'several' }
  | { readonly kind: 'one'; readonly value: string }

const NONE: FoundCredential = { kind: 'none' }
const SEVERAL: FoundCredential = { kind: 'several' }

export function findCredential(exchange: Exchange, location: CredentialLocation): FoundCredential {
  const { request } = exchange
  switch (location.kind) {
    case 'header': {
      const values = request.getAll(location.name)
      const found = selectSingleCredential(
        values.map((value) => stripSchemePrefix(value, location.prefix)),
      )
      // Also when the others have another scheme: a backend might read one of those instead.
      return found.kind === 'one' && values.length > 1 ? SEVERAL : found
    }
    case 'query':
      return selectSingleCredential(new URLSearchParams(request.query).getAll(location.name))
    case 'cookie':
      return selectSingleCredential(cookiesOf(request, location.name).map(cookieValueOf))
    case 'expression': {
      const text = location.expression.evaluateText(
        new ExpressionView(exchange, exchange.facts ?? undefined),
      )
      return text === null || text === '' ? NONE : { kind: 'one', value: text }
    }
  }
}

/** Removes a verified credential: the backend does not receive it, unless `backendAuth: passthrough` restores it. */
export function removeCredential(
  exchange: Exchange,
  location: CredentialLocation,
  value: string,
): void {
  const { request } = exchange
  const places =
    location.kind === 'expression'
      ? findCredentialPlaces(request, location.expression.source, value)
      : [location]
  const removed = [...exchange.enforcement.verifiedCredentials]
  for (const { kind, name } of places)
    for (const text of credentialRemovers[kind](request, name)) removed.push({ kind, name, text })
  exchange.enforcement.verifiedCredentials = removed
}

/** Puts the client's credentials back on the request for the backend. */
export function restoreCredentials({
  request,
  enforcement: { verifiedCredentials: credentials },
}: Exchange): void {
  for (const { kind, name } of credentials) if (kind === 'header') request.remove(name)
  for (const { kind, name, text } of credentials)
    if (kind === 'header') request.add(name, text)
    else if (kind === 'query') appendToQuery(request, text)
    else request.set('cookie', [...request.getAll('cookie'), text].join('; '))
}

/** Removes all query parameters of this name, also when the name is percent-encoded. */
function removeParameter(request: RequestHead, name: string): void {
  if (new URLSearchParams(request.query).has(name)) credentialRemovers.query(request, name)
}

function appendToQuery(request: RequestHead, parameter: string): void {
  request.target += `${request.target.includes('?') ? '&' : '?'}${parameter}`
}

/** Each removes the credential, keeps all other text unchanged, and returns the removed text. */
const credentialRemovers: Readonly<
  Record<PresentedCredential['kind'], (request: RequestHead, name: string) => readonly string[]>
> = {
  header(request, name) {
    const values = request.getAll(name)
    request.remove(name)
    return values
  },
  query(request, name) {
    const { path, query } = request
    const parts = query.split('&')
    const isNamed = (part: string): boolean => new URLSearchParams(part).has(name)
    const kept = parts.filter((part) => !isNamed(part))
    request.target = kept.length === 0 ? path : `${path}?${kept.join('&')}`
    return parts.filter(isNamed)
  },
  cookie(request, name) {
    const removed = cookiesOf(request, name)
    const kept = request.getAll('cookie').flatMap((value) => withoutCookie(value, name))
    request.remove('cookie')
    for (const value of kept) request.add('cookie', value)
    return removed
  },
}

interface CredentialPlace {
  readonly kind: PresentedCredential['kind']
  readonly name: string
}

const READS_HEADERS = /\bheaders\b/
const READS_QUERY = /\b(?:pathAndQuery|uri)\b/
/** Never removed: without them the target or the length of the request is unknown. */
const REQUIRED_HEADERS = new Set(['host', 'content-length', 'transfer-encoding'])

/**
 * Finds where the result of an expression occurs as a complete value, or after a scheme. Returns none when it was
 * composed, or is part of a larger value: then the request stays unchanged.
 */
function findCredentialPlaces(
  request: RequestHead,
  source: string,
  value: string,
): CredentialPlace[] {
  const places: CredentialPlace[] = []
  if (READS_HEADERS.test(source)) {
    for (const [name, text] of request.entries())
      if (!REQUIRED_HEADERS.has(name) && containsCredential(text, value))
        places.push({ kind: 'header', name })
    for (const cookie of allCookies(request))
      if (containsCredential(cookieValueOf(cookie), value))
        places.push({ kind: 'cookie', name: cookieNameOf(cookie) })
  }
  if (READS_QUERY.test(source))
    for (const part of request.query.split('&'))
      for (const [name, text] of new URLSearchParams(part))
        // An expression may return the value without decoding it.
        if (containsCredential(text, value) || cookieValueOf(part) === value)
          places.push({ kind: 'query', name })
  return places
}

const SCHEME = /^[\w!#$%&'*+.^`|~-]+ +$/

function containsCredential(text: string, value: string): boolean {
  if (!text.endsWith(value)) return false
  return text.length === value.length || SCHEME.test(text.slice(0, -value.length))
}

function selectSingleCredential(values: readonly (string | null)[]): FoundCredential {
  const found = values.filter((value) => value !== null)
  const [value] = found
  if (value === undefined) return NONE
  return found.length > 1 ? SEVERAL : { kind: 'one', value }
}

/** Schemes are case-insensitive (RFC 9110 11.1). Returns null when the value has another scheme. */
function stripSchemePrefix(value: string, prefix: string): string | null {
  const isSame = value.startsWith(prefix)
  if (!isSame && value.slice(0, prefix.length).toLowerCase() !== prefix.toLowerCase()) return null
  return value.slice(prefix.length).trim()
}

/** Returns the cookies as the client sent them: `name=value`. */
function cookiesOf(request: RequestHead, name: string): string[] {
  return allCookies(request).filter((cookie) => cookieNameOf(cookie) === name)
}

function allCookies(request: RequestHead): string[] {
  return request
    .getAll('cookie')
    .flatMap((value) => value.split(';'))
    .map((part) => part.trim())
}

function withoutCookie(header: string, name: string): string[] {
  const text = header
    .split(';')
    .filter((part) => cookieNameOf(part) !== name)
    .join(';')
    .trim()
  return text === '' ? [] : [text]
}

function cookieNameOf(cookie: string): string {
  const at = cookie.indexOf('=')
  return (at < 0 ? cookie : cookie.slice(0, at)).trim()
}

function cookieValueOf(cookie: string): string {
  const at = cookie.indexOf('=')
  return at < 0 ? '' : cookie.slice(at + 1).trim()
}

/** The backendAuth policy: sends the backend's credential instead of the client's, or passes the client's through. */
export function createBackendAuthPolicy(config: BackendAuthConfig): Policy {
  const secrets = config.kind === 'passthrough' ? [] : [config.key]
  return {
    kind: 'backendAuth',
    request(exchange) {
      const { request } = exchange
      exchange.addSecrets(secrets)
      if (config.kind === 'passthrough') {
        restoreCredentials(exchange)
      } else if (config.kind === 'header') {
        request.set(config.name, config.prefix + config.key.reveal())
      } else {
        removeParameter(request, config.name)
        const value = encodeURIComponent(config.key.reveal())
        appendToQuery(request, `${encodeURIComponent(config.name)}=${value}`)
      }
      return undefined
    },
  }
}
