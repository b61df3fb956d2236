// A configuration dump, saved or asked for, and the parts of it that tables show. It may come from an older gateway or
// another one: what is missing is missing.

import { readFileSync } from 'node:fs'
import { ask, told } from '../admin.ts'
import { has, valueOf } from '../command.ts'
import type { Call } from '../command.ts'
import { targetOf } from '../target.ts'

export type Fields = Readonly<Record<string, unknown>>

export async function dumpOf(call: Call): Promise<Fields> {
  const file = valueOf(call, 'file')
  if (file === undefined) return fromGateway(call)
  if (call.words.length > 0) throw new Error('at most one of --file or resource name may be passed')
  for (const other of ['local', 'admin-url', 'proxy-admin-port'])
    if (has(call, other)) throw new Error(`at most one of --file or --${other} may be passed`)
  return parsed(read(file), `config dump file ${file}`)
}

async function fromGateway(call: Call): Promise<Fields> {
  const target = await targetOf(call)
  const { status, statusText, body } = await ask(target, { method: 'GET', path: '/config_dump' })
  if (status !== 200) throw new Error(`config dump returned ${statusText}: ${told(body)}`)
  return parsed(body.toString(), `config dump of ${target.label}`)
}

function read(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    const { message } = error as Error
    throw new Error(`failed to read config dump file ${file}: ${message}`, { cause: error })
  }
}

function parsed(text: string, what: string): Fields {
  try {
    const dump: unknown = JSON.parse(text)
    if (typeof dump === 'object' && dump !== null && !Array.isArray(dump)) return dump as Fields
  } catch (error) {
    throw new Error(`failed to parse ${what}: ${(error as Error).message}`, { cause: error })
  }
  throw new Error(`failed to parse ${what}: it is no object`)
}

/** What is an object, and an empty one for all else. */
export function fields(value: unknown): Fields {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Fields) : {}
}

/** The objects of a list, or of an object by key. */
export function each(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fields) : Object.values(fields(value)).map(fields)
}

export function word(value: unknown, fallback = '-'): string {
  if (typeof value === 'string') return value === '' ? fallback : value
  return value === undefined || value === null ? fallback : JSON.stringify(value)
}

/** Of a cell; `-o json` has all of it. */
const MOST_CHARS = 80

export function cut(text: string): string {
  return text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS - 1)}…` : text
}
