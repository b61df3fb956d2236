// Where a client's credential stands, how it is read, taken off the request once it was verified, and put back.

import { View } from '../base/cel/view.ts'
import type { CredentialLocation } from '../base/config/auth-types.ts'
import type { Credential, Exchange } from '../base/exchange.ts'
import type { RequestHead } from '../base/wire/head.ts'

/** `several`: more than one, so that nobody knows which is meant. */
export type Found =
  | { readonly kind: 'none' }
  | { readonly kind: 'several' }
  | { readonly kind: 'one'; readonly value: string }

const NONE: Found = { kind: 'none' }
const SEVERAL: Found = { kind: 'several' }

export function findCredential(exchange: Exchange, location: CredentialLocation): Found {
  const { request } = exchange
  switch (location.kind) {
    case 'header': {
      const values = request.all(location.name)
      const found = only(values.map((value) => behindPrefix(value, location.prefix)))
      // Beside one of another scheme, too: whoever reads it next might take the other.
      return found.kind === 'one' && values.length > 1 ? SEVERAL : found
    }
    case 'query':
      return only(new URLSearchParams(request.query).getAll(location.name))
    case 'cookie':
      return only(cookiesOf(request, location.name).map(valueOf))
    case 'expression': {
      const text = location.expression.textOf(new View(exchange, exchange.facts ?? undefined))
      return text === null || text === '' ? NONE : { kind: 'one', value: text }
    }
  }
}

/** After it was verified: the backend is not to have it, unless `backendAuth` says otherwise. */
export function removeCredential(exchange: Exchange, location: CredentialLocation): void {
  const { request } = exchange
  // What an expression computed from who knows what cannot be taken off.
  if (location.kind === 'expression') return
  const { kind, name } = location
  const taken = takers[kind](request, name)
  exchange.credentials = [
    ...exchange.credentials,
    ...taken.map((text): Credential => ({ kind, name, text })),
  ]
}

/** For a backend that is to have what the client showed. */
export function restoreCredentials({ request, credentials }: Exchange): void {
  for (const { kind, name, text } of credentials)
    if (kind === 'header') request.set(name, text)
    else if (kind === 'query') appendToQuery(request, text)
    else request.set('cookie', [...request.all('cookie'), text].join('; '))
}

/** Every one of this name, however it is written. */
export function removeParameter(request: RequestHead, name: string): void {
  if (new URLSearchParams(request.query).has(name)) takers.query(request, name)
}

export function appendToQuery(request: RequestHead, parameter: string): void {
  request.target += `${request.target.includes('?') ? '&' : '?'}${parameter}`
}

/** Each takes the credential off, leaves all else as it was written, and tells what it took. */
const takers: Readonly<
  Record<Credential['kind'], (request: RequestHead, name: string) => readonly string[]>
> = {
  header(request, name) {
    const values = request.all(name)
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
    const kept = request.all('cookie').flatMap((value) => withoutCookie(value, name))
    request.remove('cookie')
    for (const value of kept) request.add('cookie', value)
    return taken
  },
}

function only(values: readonly (string | null)[]): Found {
  const found = values.filter((value) => value !== null)
  const [value] = found
  if (value === undefined) return NONE
  return found.length > 1 ? SEVERAL : { kind: 'one', value }
}

/** The scheme's case does not matter (RFC 9110 11.1). Another scheme is no credential of this kind. */
function behindPrefix(value: string, prefix: string): string | null {
  if (value.slice(0, prefix.length).toLowerCase() !== prefix.toLowerCase()) return null
  return value.slice(prefix.length).trim()
}

/** As they were written: `name=value`. */
function cookiesOf(request: RequestHead, name: string): string[] {
  return request
    .all('cookie')
    .flatMap((value) => value.split(';'))
    .filter((part) => nameOf(part) === name)
    .map((part) => part.trim())
}

function withoutCookie(header: string, name: string): string[] {
  const text = header
    .split(';')
    .filter((part) => nameOf(part) !== name)
    .join(';')
    .trim()
  return text === '' ? [] : [text]
}

function nameOf(cookie: string): string {
  const at = cookie.indexOf('=')
  return (at < 0 ? cookie : cookie.slice(0, at)).trim()
}

function valueOf(cookie: string): string {
  const at = cookie.indexOf('=')
  return at < 0 ? '' : cookie.slice(at + 1).trim()
}
