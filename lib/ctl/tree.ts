// gwctl proxy tasks and proxy memory: what the gateway says of itself, as a tree for people or as it came.

import { ask, told } from './admin.ts'
import { bytesText, timeText } from '../trace-view/amounts.ts'
import type { Call } from './command.ts'
import { formOf, printAs } from './output.ts'
import { tableText } from './table.ts'
import { targetOf } from './target.ts'

const STEP = '  '
/** Names of what is counted in bytes, in our words and in those of Node and V8. */
const BYTES = /bytes|size|memory|^(?:rss|heapTotal|heapUsed|external|arrayBuffers)$/i
const POINT_IN_TIME = /_unix_ms$/
const LENGTH_OF_TIME = /_ms$/
/** Stands behind the value, where people read it. */
const UNIT = /_(?:unix_ms|ms|bytes)$/

export async function tasks(call: Call): Promise<void> {
  await printTree(call, '/debug/tasks', 'tasks')
}

export async function memory(call: Call): Promise<void> {
  await printTree(call, '/memory', 'memory')
}

async function printTree(call: Call, path: string, what: string): Promise<void> {
  const form = formOf(call)
  const target = await targetOf(call)
  const { status, statusText, body } = await ask(target, { method: 'GET', path })
  if (status !== 200) throw new Error(`${what} returned ${statusText}: ${told(body)}`)
  const value = parsed(body.toString(), what)
  await printAs(form, value, () => treeText(value))
}

function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`failed to parse ${what}: ${(error as Error).message}`, { cause: error })
  }
}

/** Lists of like things are tables, all else is indented below its name. */
export function treeText(value: unknown, indent = ''): string {
  if (Array.isArray(value)) return listText(value, indent)
  return Object.entries(value ?? {})
    .map(([name, part]) => {
      if (isLeaf(part)) return `${indent}${bareName(name)}: ${leafText(part, name)}\n`
      if (Object.keys(part as object).length === 0) return `${indent}${name}: none\n`
      return `${indent}${name}:\n${treeText(part, indent + STEP)}`
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
  const headings = names.map((name) => bareName(name).toUpperCase())
  return tableText(headings, cells).replace(/^(?=.)/gm, indent)
}

/** What is said of it in one line, and what is in it below. */
function itemText(item: unknown, indent: string): string {
  if (isLeaf(item)) return `${indent}- ${leafText(item, '')}\n`
  const fields = Object.entries(item as object)
  const words = fields
    .filter(([, part]) => isLeaf(part))
    .map(([name, part]) => `${bareName(name)}=${leafText(part, name)}`)
  const inside = fields.filter(
    ([, part]) => !isLeaf(part) && Object.keys(part as object).length > 0,
  )
  const below = treeText(Object.fromEntries(inside), indent + STEP)
  return `${indent}- ${words.join('  ')}\n${below}`
}

function bareName(name: string): string {
  return name.replace(UNIT, '')
}

function isLeaf(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

function leafText(value: unknown, name: string): string {
  if (value === null || value === undefined || value === '') return '-'
  if (typeof value === 'string') return value
  if (typeof value !== 'number') return JSON.stringify(value)
  if (BYTES.test(name)) return bytesText(value)
  if (POINT_IN_TIME.test(name)) return new Date(value).toISOString()
  return LENGTH_OF_TIME.test(name) ? timeText(value * 1_000) : String(value)
}
