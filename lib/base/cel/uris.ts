// Query parameters of a URI, or of a path and query: `request.uri.query("page")`.

import type { Environment } from '@marcbachmann/cel-js'
import { MAX_URI } from './bounds.ts'
import { CelFault } from './errors.ts'

const SYNC = { async: false }

export function registerUris(environment: Environment): void {
  environment
    .registerFunction('string.query(string): string', query, SYNC)
    .registerFunction('string.addQuery(string, string): string', addQuery, SYNC)
    .registerFunction('string.setQuery(string, string): string', setQuery, SYNC)
}

interface Parts {
  readonly path: string
  /** As they were written. */
  readonly parameters: readonly string[]
  readonly fragment: string
}

function partsOf(uri: string): Parts {
  if (uri.length > MAX_URI) throw new CelFault('too_large')
  const [, path = '', written = '', fragment = ''] =
    /^([^?#]*)(?:\?([^#]*))?(#.*)?$/s.exec(uri) ?? []
  return { path, parameters: written === '' ? [] : written.split('&'), fragment }
}

/** The first of this name. */
function query(uri: string, name: string): string {
  const { parameters } = partsOf(uri)
  const value = new URLSearchParams(parameters.join('&')).get(name)
  if (value === null) throw new CelFault('no_such_key')
  return value
}

function addQuery(uri: string, name: string, value: string): string {
  const { path, parameters, fragment } = partsOf(uri)
  return written(path, [...parameters, encoded(name, value)], fragment)
}

/** In place of all of this name; the others stay as they were written. */
function setQuery(uri: string, name: string, value: string): string {
  const { path, parameters, fragment } = partsOf(uri)
  const others = parameters.filter((part) => !new URLSearchParams(part).has(name))
  return written(path, [...others, encoded(name, value)], fragment)
}

function encoded(name: string, value: string): string {
  return String(new URLSearchParams([[name, value]]))
}

function written(path: string, parameters: readonly string[], fragment: string): string {
  const text = `${path}?${parameters.join('&')}${fragment}`
  if (text.length > MAX_URI) throw new CelFault('too_large')
  return text
}
