// Where a client's credential stands, how it is read, taken off the request once it was verified, and put back.

import type { BackendAuthConfig } from '../../config/config-types.ts'
import type { CredentialLocation } from '../../config/policy-types.ts'
import type { Exchange, PresentedCredential } from '../../core/exchange.ts'
import type { RequestHead } from '../../core/head.ts'
import type { Policy } from '../../core/types.ts'
import { ExpressionView } from '../../expressions/exchange-view.ts'

/** `several`: more than one, so that nobody knows which is meant. */
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
      // Beside one of another scheme, too: whoever reads it next might take the other.
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

/** After it was verified: the backend is not to have it, unless `createBackendAuthPolicy` says otherwise. */
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
  const taken = [...exchange.enforcement.verifiedCredentials]
  for (const { kind, name } of places)
    for (const text of credentialRemovers[kind](request, name)) taken.push({ kind, name, text })
  exchange.enforcement.verifiedCredentials = taken
}

/** For a backend that is to have what the client showed. */
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

/** Every one of this name, however it is written. */
function removeParameter(request: RequestHead, name: string): void {
  if (new URLSearchParams(request.query).has(name)) credentialRemovers.query(request, name)
}

function appendToQuery(request: RequestHead, parameter: string): void {
  request.target += `${request.target.includes('?') ? '&' : '?'}${parameter}`
}

/** Each takes the credential off, leaves all else as it was written, and tells what it took. */
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
    const taken = cookiesOf(request, name)
    const kept = request.getAll('cookie').flatMap((value) => withoutCookie(value, name))
    request.remove('cookie')
    for (const value of kept) request.add('cookie', value)
    return taken
  },
}

interface CredentialPlace {
  readonly kind: PresentedCredential['kind']
  readonly name: string
}

const READS_FIELDS = /\bheaders\b/
const READS_QUERY = /\b(?:pathAndQuery|uri)\b/
/** Without them nobody knows whom the request is for, or where it ends. */
const REQUIRED_HEADERS = new Set(['host', 'content-length', 'transfer-encoding'])

/**
 * Where the text stands as a whole, or behind a scheme, that an expression found. None if it was put together, or is a
 * part of something larger: that stays as it is.
 */
function findCredentialPlaces(
  request: RequestHead,
  source: string,
  value: string,
): CredentialPlace[] {
  const places: CredentialPlace[] = []
  if (READS_FIELDS.test(source)) {
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
        // An expression may have cut it out as it was written.
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

/** The scheme's case does not matter (RFC 9110 11.1). Another scheme is no credential of this kind. */
function stripSchemePrefix(value: string, prefix: string): string | null {
  const isSame = value.startsWith(prefix)
  if (!isSame && value.slice(0, prefix.length).toLowerCase() !== prefix.toLowerCase()) return null
  return value.slice(prefix.length).trim()
}

/** As they were written: `name=value`. */
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

// backendAuth: the credential a backend wants, in place of the client's.

export function createBackendAuthPolicy(config: BackendAuthConfig): Policy {
  return {
    kind: 'backendAuth',
    request(exchange) {
      const { request } = exchange
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
