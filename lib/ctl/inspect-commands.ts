// gwctl proxy log, tasks and memory: log levels, running work and memory usage of a gateway.

import { LOG_MODULES } from '../core/log.ts'
import { bytesText, timeText } from '../trace-view/amounts.ts'
import {
  adminAddress,
  hasOption,
  optionValue,
  refusalText,
  sendAdminRequest,
} from './admin-client.ts'
import type { Invocation } from './gwctl-commands.ts'
import { outputFormat, print, printAs, tableText } from './print-output.ts'

const MODULE_LEVEL = /^[^=,\s]+=[^=,\s]+$/
const INDENT = '  '
/** Fields that hold bytes, in the names of the gateway, Node and V8. */
const BYTES = /bytes|size|memory|^(?:rss|heapTotal|heapUsed|external|arrayBuffers)$/i
const TIMESTAMP = /_unix_ms$/
const DURATION = /_ms$/
/** The unit is part of the printed value, so the name is printed without it. */
const UNIT_SUFFIX = /_(?:unix_ms|ms|bytes)$/

export async function log(invocation: Invocation): Promise<void> {
  const path = loggingPath(invocation)
  const address = await adminAddress(invocation)
  const method = path === '/logging' ? 'GET' : 'POST'
  const { status, statusText, body } = await sendAdminRequest(address, { method, path })
  if (status !== 200) throw new Error(`logging returned ${statusText}: ${refusalText(body)}`)
  print(body.toString())
}

function loggingPath(invocation: Invocation): string {
  const level = optionValue(invocation, 'level')
  const moduleLevels = [invocation.options['set'] ?? []].flat().map(String)
  if (level !== undefined && moduleLevels.length > 0)
    throw new Error('--level and --set are mutually exclusive')
  for (const setting of moduleLevels)
    if (!MODULE_LEVEL.test(setting))
      throw new Error(`invalid --set ${setting}: expected module=level`)
  refuseUnknownModules(moduleLevels)
  const query = [
    ...(hasOption(invocation, 'reset') ? ['reset=true'] : []),
    ...(level === undefined ? [] : [`level=${encodeURIComponent(level)}`]),
    ...(moduleLevels.length === 0 ? [] : [`set=${encodeURIComponent(moduleLevels.join(','))}`]),
  ]
  return query.length === 0 ? '/logging' : `/logging?${query.join('&')}`
}

/** The gateway also accepts module names of other programs, so that a mistyped one would have no effect. */
function refuseUnknownModules(moduleLevels: readonly string[]): void {
  const modules = moduleLevels.map((setting) => setting.slice(0, setting.indexOf('=')))
  const known: ReadonlySet<string> = new Set(LOG_MODULES)
  const unknown = modules.find((module) => !known.has(module.toLowerCase()))
  if (unknown !== undefined)
    throw new Error(`unknown module ${unknown}: the modules are ${LOG_MODULES.join(', ')}`)
}

export async function tasks(invocation: Invocation): Promise<void> {
  await printTree(invocation, '/debug/tasks', 'tasks')
}

export async function memory(invocation: Invocation): Promise<void> {
  await printTree(invocation, '/memory', 'memory')
}

async function printTree(invocation: Invocation, path: string, what: string): Promise<void> {
  const format = outputFormat(invocation)
  const address = await adminAddress(invocation)
  const { status, statusText, body } = await sendAdminRequest(address, { method: 'GET', path })
  if (status !== 200) throw new Error(`${what} returned ${statusText}: ${refusalText(body)}`)
  const value = parseBody(body.toString(), what)
  await printAs(format, value, () => treeText(value))
}

function parseBody(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`failed to parse ${what}: ${(error as Error).message}`, { cause: error })
  }
}

/** A list of flat objects becomes a table; everything else is indented below its name. */
export function treeText(value: unknown, indent = ''): string {
  if (Array.isArray(value)) return listText(value, indent)
  return Object.entries(value ?? {})
    .map(([name, part]) => {
      if (isLeaf(part)) return `${indent}${nameWithoutUnit(name)}: ${leafText(part, name)}\n`
      if (Object.keys(part as object).length === 0) return `${indent}${name}: none\n`
      return `${indent}${name}:\n${treeText(part, indent + INDENT)}`
    })
    .join('')
}

function listText(list: readonly unknown[], indent: string): string {
  const rows = list.filter((item) => !isLeaf(item) && !Array.isArray(item)) as object[]
  const isTable =
    rows.length === list.length && rows.every((row) => Object.values(row).every(isLeaf))
  if (!isTable) return list.map((item) => itemText(item, indent)).join('')
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const cells = rows.map((row) => {
    const fields = row as Record<string, unknown>
    return names.map((name) => leafText(fields[name], name))
  })
  const headings = names.map((name) => nameWithoutUnit(name).toUpperCase())
  return tableText(headings, cells).replace(/^(?=.)/gm, indent)
}

/** The flat fields in one line, and the nested ones below it. */
function itemText(item: unknown, indent: string): string {
  if (isLeaf(item)) return `${indent}- ${leafText(item, '')}\n`
  const fields = Object.entries(item as object)
  const flat = fields
    .filter(([, part]) => isLeaf(part))
    .map(([name, part]) => `${nameWithoutUnit(name)}=${leafText(part, name)}`)
  const nested = fields.filter(
    ([, part]) => !isLeaf(part) && Object.keys(part as object).length > 0,
  )
  const below = treeText(Object.fromEntries(nested), indent + INDENT)
  return `${indent}- ${flat.join('  ')}\n${below}`
}

function nameWithoutUnit(name: string): string {
  return name.replace(UNIT_SUFFIX, '')
}

function isLeaf(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

function leafText(value: unknown, name: string): string {
  if (value === null || value === undefined || value === '') return '-'
  if (typeof value === 'string') return value
  if (typeof value !== 'number') return JSON.stringify(value)
  if (BYTES.test(name)) return bytesText(value)
  if (TIMESTAMP.test(name)) return new Date(value).toISOString()
  return DURATION.test(name) ? timeText(value * 1_000) : String(value)
}
