// Where a client's credential stands, how it is read, and how it is taken off the request once it was verified.

import { View } from '../base/cel/view.ts'
import type { CredentialLocation } from '../base/config/auth-types.ts'
import type { Exchange } from '../base/exchange.ts'

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
    case 'header':
      return only(request.all(location.name).map((value) => behindPrefix(value, location.prefix)))
    case 'query':
      return only(new URLSearchParams(request.query).getAll(location.name))
    case 'cookie':
      return only(request.all('cookie').flatMap((value) => cookiesOf(value, location.name)))
    case 'expression': {
      const text = location.expression.keyOf(new View(exchange, exchange.facts ?? undefined))
      return text === null ? NONE : { kind: 'one', value: text }
    }
  }
}

/** After it was verified: the backend is not to have it, unless `backendAuth` says otherwise. */
export function removeCredential(exchange: Exchange, location: CredentialLocation): void {
  const { request } = exchange
  switch (location.kind) {
    case 'header': {
      const value = request.get(location.name)
      if (value !== undefined) exchange.credential = { name: location.name, value }
      return request.remove(location.name)
    }
    case 'query':
      request.target = withoutParameter(request.path, request.query, location.name)
      return
    case 'cookie': {
      const kept = request.all('cookie').flatMap((value) => withoutCookie(value, location.name))
      request.remove('cookie')
      for (const value of kept) request.add('cookie', value)
      return
    }
    case 'expression':
      // Computed from who knows what: it cannot be taken off.
      return
  }
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

function cookiesOf(header: string, name: string): string[] {
  return header.split(';').flatMap((part) => {
    const [key = '', ...rest] = part.split('=')
    return key.trim() === name ? [rest.join('=').trim()] : []
  })
}

function withoutCookie(header: string, name: string): string[] {
  const parts = header.split(';').filter((part) => part.split('=')[0]!.trim() !== name)
  const text = parts.join(';').trim()
  return text === '' ? [] : [text]
}

/** All else stays as it was written. */
function withoutParameter(path: string, query: string, name: string): string {
  const kept = query.split('&').filter((part) => {
    const [[key = ''] = []] = [...new URLSearchParams(part)]
    return key !== name
  })
  return kept.length === 0 ? path : `${path}?${kept.join('&')}`
}
