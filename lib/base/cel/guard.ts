// What the library does not bound: how deep and how often an expression loops, the regexes it runs, the texts
// it builds. `inspect` refuses at load what cannot be bounded, `meter` bounds the rest at evaluation.

import { nearest } from '../nearest-name.ts'
import { MAX_REGEX_SUBJECT, Regex, RegexError } from '../regex.ts'
import { MAX_COMPREHENSIONS, MAX_DEPTH, MAX_NESTED_COMPREHENSIONS, MAX_TEXT } from './bounds.ts'
import { CelError, CelFault } from './errors.ts'
import type { CelErrorCode } from './errors.ts'
import { fieldsOf } from './fields.ts'
import { ABSENT } from './headers-map.ts'
import type { Node } from './library.ts'
import { childrenOf, comprehensionOf } from './library.ts'
import { metered } from './meter.ts'
import type { Meter } from './meter.ts'
import { replacer } from './regex-replace.ts'

/** Parts of the library that are no CEL, or not this gateway's. */
const UNKNOWN_NAMES = new Set(['cel', 'optional'])

/** Longer is no duration, and the library's own pattern for them is cubic. */
const MAX_DURATION_TEXT = 64

interface Visit {
  readonly node: Node
  readonly depth: number
  readonly loops: number
}

/** Every node of a tree in no order that matters; throws where it is deeper or loops more than it may. */
function nodesOf(source: string, root: Node): Node[] {
  const nodes: Node[] = []
  const open: Visit[] = [{ node: root, depth: 1, loops: 0 }]
  let comprehensions = 0
  for (let visit = open.pop(); visit !== undefined; visit = open.pop()) {
    const { node, depth, loops } = visit
    const refuse = (code: CelErrorCode, message: string): never => {
      throw new CelError(code, message, source, node.start)
    }
    nodes.push(node)
    if (depth > MAX_DEPTH) refuse('too_deep', `expression nests deeper than ${MAX_DEPTH}`)
    const isLoop = comprehensionOf(node) !== undefined
    if (isLoop && loops >= MAX_NESTED_COMPREHENSIONS)
      refuse(
        'nested_comprehension',
        `more than ${MAX_NESTED_COMPREHENSIONS} loops within each other`,
      )
    if (isLoop && ++comprehensions > MAX_COMPREHENSIONS)
      refuse('too_large', `more than ${MAX_COMPREHENSIONS} loops`)
    childrenOf(node).forEach((child, index) => {
      // The list itself is made once, before the loop.
      const inner = isLoop && index > 0 ? loops + 1 : loops
      open.push({ node: child, depth: depth + 1, loops: inner })
    })
  }
  return nodes
}

/** Throws what is wrong with an expression that parses; gives its nodes back for `meter`. */
export function inspect(
  source: string,
  root: Node,
  names: Readonly<Record<string, string>>,
): Node[] {
  const nodes = nodesOf(source, root)
  for (const node of nodes) {
    if (node.op === 'id' && UNKNOWN_NAMES.has(node.args as string))
      throw new CelError('unknown_name', `unknown name ${node.args as string}`, source, node.start)
    const called = callOf(node)
    const pattern = patternOf(called)
    if (pattern !== undefined) inspectPattern(source, pattern, called!.name)
    if (called?.name === 'has') inspectHas(source, called.args[0], names)
    if (called?.name === 'json' && node.op === 'rcall')
      throw new CelError('unsupported', 'unknown method json, use json(…)', source, node.start)
  }
  return nodes
}

interface Call {
  readonly name: string
  /** A method's receiver first. */
  readonly args: readonly Node[]
}

function callOf(node: Node): Call | undefined {
  if (node.op !== 'call' && node.op !== 'rcall') return undefined
  return { name: (node.args as [string])[0], args: childrenOf(node) }
}

/** Where a call has its regex. */
function patternOf(called: Call | undefined): Node | undefined {
  if (called?.name === 'matches') return called.args.at(-1)
  return called?.name === 'regexReplace' ? called.args[1] : undefined
}

function inspectPattern(source: string, pattern: Node, name: string): void {
  const refuse = (message: string): never => {
    throw new CelError('invalid_regex', message, source, pattern.start)
  }
  if (pattern.op !== 'value' || typeof pattern.args !== 'string')
    return refuse(`the pattern of ${name}() must be a literal text`)
  try {
    void new Regex(pattern.args, 'part')
  } catch (error) {
    if (!(error instanceof RegexError)) throw error
    refuse(`invalid regex: ${error.message}`)
  }
}

/** `has(request.methd)` would be false for ever: the library checks fields everywhere but here. */
function inspectHas(
  source: string,
  arg: Node | undefined,
  names: Readonly<Record<string, string>>,
): void {
  const steps: Node[] = []
  let node = arg
  for (; node?.op === '.'; node = (node.args as [Node])[0]) steps.unshift(node)
  if (node?.op !== 'id') return
  let fields = fieldsOf(names[node.args as string] ?? '')
  for (const step of steps) {
    if (fields === undefined) return
    const field = (step.args as [Node, string])[1]
    if (!Object.hasOwn(fields, field)) throw unknownField(source, field, Object.keys(fields), step)
    fields = fieldsOf(fields[field]!)
  }
}

export function unknownField(
  source: string,
  field: string,
  known: readonly string[],
  { pos }: { readonly pos: number },
): CelError {
  const guess = nearest(field, known)
  const hint = guess === undefined ? '' : `, did you mean ${guess}?`
  return new CelError('unknown_field', `unknown field ${field}${hint}`, source, pos)
}

/** Puts the meter and the bounds of texts into a tree that was checked. */
export function bound(nodes: readonly Node[], meter: Meter): void {
  for (const node of nodes) {
    const called = callOf(node)
    const pattern = patternOf(called)?.args as string | undefined
    if (pattern !== undefined && called?.name === 'matches') boundMatches(node, pattern, meter)
    if (pattern !== undefined && called?.name === 'regexReplace') boundReplace(node, pattern, meter)
    if (called?.name === 'join') before(node, fitJoin)
    if (called?.name === 'duration') before(node, fitDuration)
    if (node.op === 'in') before(node, refuseAbsent)
    metered(node, meter)
  }
}

/** Compiles the regex once, and pays for each run. */
function boundMatches(node: Node, pattern: string, meter: Meter): void {
  const regex = new Regex(pattern, 'part')
  const { size } = regex
  node.handle = (values) => {
    const [subject] = values as readonly unknown[]
    if (typeof subject !== 'string') throw new CelFault('no_such_overload')
    if (subject.length > MAX_REGEX_SUBJECT) throw new CelFault('too_large')
    meter.payForSearch(subject.length, size)
    return regex.test(subject)
  }
}

function boundReplace(node: Node, pattern: string, meter: Meter): void {
  const replace = replacer(pattern, meter)
  node.handle = (values) => {
    const [subject, , by] = values as readonly unknown[]
    return replace(subject, by)
  }
}

function before(node: Node, check: (first: unknown, second: unknown) => void): void {
  const { handle } = node
  if (handle === undefined) return
  node.handle = (first, ...rest) => {
    check(first, rest[0])
    return handle(first, ...rest)
  }
}

/** `!("role" in jwt)` must not hold because nobody showed a token. */
function refuseAbsent(_left: unknown, right: unknown): void {
  if (right === ABSENT) throw new CelFault('no_such_key')
}

function fitJoin(values: unknown): void {
  const [list, separator] = values as readonly unknown[]
  if (!Array.isArray(list)) return
  let length = typeof separator === 'string' ? separator.length * list.length : 0
  for (const item of list) if (typeof item === 'string') length += item.length
  if (length > MAX_TEXT) throw new CelFault('too_large')
}

function fitDuration(values: unknown): void {
  const [text] = values as readonly unknown[]
  if (typeof text === 'string' && text.length > MAX_DURATION_TEXT) throw new CelFault('conversion')
}
