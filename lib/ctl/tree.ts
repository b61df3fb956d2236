// gwctl proxy tasks and proxy memory: what the gateway says of itself, as a tree for people or as it came.

import { ask } from './admin.ts'
import type { Call } from './command.ts'
import { formOf, printAs } from './output.ts'
import { tableText } from './table.ts'
import { targetOf } from './target.ts'

const STEP = '  '
const BYTES = /(?:bytes|rss|heap|size|used|total|external|buffers|memory|available|limit)/i
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

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
  if (status !== 200) throw new Error(`${what} returned ${statusText}: ${body.toString().trim()}`)
  const value = parsed(body.toString(), what)
  await printAs(form, value, () => treeText(value, what === 'memory' ? 'bytes' : 'plain'))
}

function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`failed to parse ${what}: ${(error as Error).message}`, { cause: error })
  }
}

/** Lists of like things are tables, all else is indented below its name. */
export function treeText(value: unknown, numbers: 'bytes' | 'plain', indent = ''): string {
  if (Array.isArray(value)) return listText(value, numbers, indent)
  return Object.entries(value ?? {})
    .map(([name, part]) => {
      if (isLeaf(part)) return `${indent}${name}: ${leafText(part, name, numbers)}\n`
      if (Object.keys(part as object).length === 0) return `${indent}${name}: none\n`
      return `${indent}${name}:\n${treeText(part, numbers, indent + STEP)}`
    })
    .join('')
}

function listText(list: readonly unknown[], numbers: 'bytes' | 'plain', indent: string): string {
  const rows = list.filter((item) => !isLeaf(item) && !Array.isArray(item)) as object[]
  const isTable =
    rows.length === list.length && rows.every((row) => Object.values(row).every(isLeaf))
  if (!isTable) return list.map((item) => itemText(item, numbers, indent)).join('')
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const cells = rows.map((row) => {
    const fields = row as Record<string, unknown>
    return names.map((name) => leafText(fields[name], name, numbers))
  })
  return tableText(
    names.map((name) => name.toUpperCase()),
    cells,
  ).replace(/^(?=.)/gm, indent)
}

/** The first line is marked, so that one sees where the next begins. */
function itemText(item: unknown, numbers: 'bytes' | 'plain', indent: string): string {
  if (isLeaf(item)) return `${indent}- ${leafText(item, '', numbers)}\n`
  const inside = treeText(item, numbers, indent + STEP)
  return `${indent}- ${inside.slice(indent.length + STEP.length)}`
}

function isLeaf(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

function leafText(value: unknown, name: string, numbers: 'bytes' | 'plain'): string {
  if (value === null || value === undefined) return '-'
  if (typeof value === 'string') return value
  const isBytes = numbers === 'bytes' && typeof value === 'number' && BYTES.test(name)
  return isBytes ? bytesText(value) : JSON.stringify(value)
}

function bytesText(bytes: number): string {
  let unit = 0
  let left = bytes
  while (left >= 1024 && unit < UNITS.length - 1) {
    left /= 1024
    unit++
  }
  return `${unit === 0 ? left : left.toFixed(1)} ${UNITS[unit]}`
}
