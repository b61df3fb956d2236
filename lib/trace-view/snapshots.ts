// The snapshots of a request in its trace: which one applies to a step, and what changed between two of them.

import { asRecord } from './trace-event.ts'
import type { Step } from './trace-event.ts'

/** The Content-Type and Content-Encoding of a body. */
export interface BodyFacts {
  readonly type: string
  readonly encoding: string
}

/** The request and response of a snapshot, or of a policy that changed the request. */
export function stateOf({ event: { message } }: Step): unknown {
  return message['requestState'] ?? asRecord(message['result'])['snapshot']
}

/** The index of the last snapshot up to this step, or -1. */
export function snapshotAt(steps: readonly Step[], at: number): number {
  return steps.findLastIndex(
    (step, index) => index <= at && asRecord(stateOf(step)) === stateOf(step),
  )
}

export function snapshotName(steps: readonly Step[], at: number): string {
  const { stage, kind, phase } = steps[at]!.event.message
  return `${String(stage ?? kind ?? phase)} (step ${at + 1})`
}

/** Reads the headers of the last snapshot for the body in this step. */
export function factsOf(steps: readonly Step[], at: number): BodyFacts {
  const { stage } = steps[at]!.event.message
  const snapshot = steps[snapshotAt(steps, at)]
  const state = asRecord(snapshot === undefined ? null : stateOf(snapshot))
  const headers = asRecord(
    asRecord(state[stage === 'response' ? 'response' : 'request'])['headers'],
  )
  const read = (name: string): string => {
    const value = headers[name]
    return typeof value === 'string' ? value : ''
  }
  return { type: read('content-type'), encoding: read('content-encoding') }
}

/** Lines that begin with `- ` and `+ `, one for each changed value; empty if nothing changed. */
export function diffLines(before: unknown, after: unknown): string[] {
  const oldLeaves = leavesOf(before)
  const newLeaves = leavesOf(after)
  const lines: string[] = []
  for (const path of new Set([...oldLeaves.keys(), ...newLeaves.keys()])) {
    const [oldValue, newValue] = [oldLeaves.get(path), newLeaves.get(path)]
    if (oldValue === newValue) continue
    if (oldValue !== undefined) lines.push(`- ${path}: ${oldValue}`)
    if (newValue !== undefined) lines.push(`+ ${path}: ${newValue}`)
  }
  return lines
}

/** Every value that is not a filled object or list, as JSON, by its path. */
function leavesOf(value: unknown): Map<string, string> {
  const leaves = new Map<string, string>()
  const visit = (node: unknown, path: string): void => {
    const entries = typeof node === 'object' && node !== null ? Object.entries(node) : []
    if (entries.length === 0) return void leaves.set(path, JSON.stringify(node) ?? 'null')
    const isList = Array.isArray(node)
    for (const [name, child] of entries)
      visit(child, isList ? `${path}[${name}]` : joinPath(path, name))
  }
  visit(value, '')
  return leaves
}

function joinPath(path: string, name: string): string {
  const shown = /^[\w-]+$/.test(name) ? name : JSON.stringify(name)
  return path === '' ? shown : `${path}.${shown}`
}
