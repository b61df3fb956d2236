// Bounds that the library lacks: nesting and number of loops, regular expressions, and the length of texts.
// `inspectExpression` refuses at load what cannot be bounded, `applyBounds` bounds the rest at evaluation.

import { nearest } from '../text/nearest-name.ts'
import { childNodesOf, comprehensionOf } from './cel-library.ts'
import type { CelNode } from './cel-library.ts'
import { celFieldsOf } from './context-names.ts'
import { CelError, CelFault } from './expression-errors.ts'
import type { CelErrorCode } from './expression-errors.ts'
import { ABSENT_CLAIMS } from './header-maps.ts'
import {
  MAX_CEL_TEXT,
  MAX_COMPREHENSIONS,
  MAX_EXPRESSION_DEPTH,
  MAX_NESTED_COMPREHENSIONS,
  meterNode,
} from './meter.ts'
import type { WorkMeter } from './meter.ts'
import { MAX_REGEX_SUBJECT, Regex, RegexError } from './regex.ts'

/** Names of the library that are not CEL, or not available in this gateway. */
const UNAVAILABLE_NAMES = new Set(['cel', 'optional'])

/** A longer text is no duration, and the library's pattern for durations takes cubic time. */
const MAX_DURATION_TEXT = 64

interface NodeVisit {
  readonly node: CelNode
  readonly depth: number
  readonly loops: number
}

/** All nodes of a tree, in any order; throws if it is too deep or has too many loops. */
function collectNodes(source: string, root: CelNode): CelNode[] {
  const nodes: CelNode[] = []
  const stack: NodeVisit[] = [{ node: root, depth: 1, loops: 0 }]
  let comprehensions = 0
  for (let visit = stack.pop(); visit !== undefined; visit = stack.pop()) {
    const { node, depth, loops } = visit
    const refuse = (code: CelErrorCode, message: string): never => {
      throw new CelError(code, message, source, node.start)
    }
    nodes.push(node)
    if (depth > MAX_EXPRESSION_DEPTH)
      refuse('too_deep', `expression nests deeper than ${MAX_EXPRESSION_DEPTH}`)
    const isLoop = comprehensionOf(node) !== undefined
    if (isLoop && loops >= MAX_NESTED_COMPREHENSIONS)
      refuse('nested_comprehension', `more than ${MAX_NESTED_COMPREHENSIONS} nested loops`)
    if (isLoop && ++comprehensions > MAX_COMPREHENSIONS)
      refuse('too_large', `more than ${MAX_COMPREHENSIONS} loops`)
    childNodesOf(node).forEach((child, index) => {
      // The list of a loop is evaluated once, before the loop.
      const inner = isLoop && index > 0 ? loops + 1 : loops
      stack.push({ node: child, depth: depth + 1, loops: inner })
    })
  }
  return nodes
}

/** Throws what is wrong with a parsed expression; returns its nodes for `applyBounds`. */
export function inspectExpression(
  source: string,
  root: CelNode,
  names: Readonly<Record<string, string>>,
): CelNode[] {
  const nodes = collectNodes(source, root)
  for (const node of nodes) {
    if (node.op === 'id' && UNAVAILABLE_NAMES.has(node.args as string))
      throw new CelError('unknown_name', `unknown name ${node.args as string}`, source, node.start)
    const called = callPartsOf(node)
    const pattern = regexArgumentOf(called)
    if (pattern !== undefined) inspectPattern(source, pattern, called!.name)
    if (called?.name === 'has') inspectHas(source, called.args[0], names)
    if (called?.name === 'json' && node.op === 'rcall')
      throw new CelError('unsupported', 'unknown method json, use json(…)', source, node.start)
  }
  return nodes
}

interface CallParts {
  readonly name: string
  /** The receiver of a method is first. */
  readonly args: readonly CelNode[]
}

function callPartsOf(node: CelNode): CallParts | undefined {
  if (node.op !== 'call' && node.op !== 'rcall') return undefined
  return { name: (node.args as [string])[0], args: childNodesOf(node) }
}

/** The argument of a call that is a regular expression. */
function regexArgumentOf(called: CallParts | undefined): CelNode | undefined {
  if (called?.name === 'matches') return called.args.at(-1)
  return called?.name === 'regexReplace' ? called.args[1] : undefined
}

function inspectPattern(source: string, pattern: CelNode, name: string): void {
  const refuse = (message: string): never => {
    throw new CelError('invalid_regex', message, source, pattern.start)
  }
  if (pattern.op !== 'value' || typeof pattern.args !== 'string')
    return refuse(`the pattern of ${name}() must be a string literal`)
  try {
    void new Regex(pattern.args, 'part')
  } catch (error) {
    if (!(error instanceof RegexError)) throw error
    refuse(`invalid regex: ${error.message}`)
  }
}

/** `has(request.methd)` would always be false: the library checks fields everywhere but here. */
function inspectHas(
  source: string,
  arg: CelNode | undefined,
  names: Readonly<Record<string, string>>,
): void {
  const steps: CelNode[] = []
  let node = arg
  for (; node?.op === '.'; node = (node.args as [CelNode])[0]) steps.unshift(node)
  if (node?.op !== 'id') return
  let fields = celFieldsOf(names[node.args as string] ?? '')
  for (const step of steps) {
    if (fields === undefined) return
    const field = (step.args as [CelNode, string])[1]
    if (!Object.hasOwn(fields, field))
      throw buildUnknownFieldError(source, field, Object.keys(fields), step)
    fields = celFieldsOf(fields[field]!)
  }
}

export function buildUnknownFieldError(
  source: string,
  field: string,
  known: readonly string[],
  { pos }: { readonly pos: number },
): CelError {
  const guess = nearest(field, known)
  const hint = guess === undefined ? '' : `, did you mean ${guess}?`
  return new CelError('unknown_field', `unknown field ${field}${hint}`, source, pos)
}

/** Adds the work meter and the bounds of texts to a checked tree. */
export function applyBounds(nodes: readonly CelNode[], meter: WorkMeter): void {
  for (const node of nodes) {
    const called = callPartsOf(node)
    const pattern = regexArgumentOf(called)?.args as string | undefined
    if (pattern !== undefined && called?.name === 'matches') boundMatches(node, pattern, meter)
    if (pattern !== undefined && called?.name === 'regexReplace') boundReplace(node, pattern, meter)
    if (called?.name === 'join') addCheckBefore(node, checkJoinLength)
    if (called?.name === 'duration') addCheckBefore(node, checkDurationLength)
    if (node.op === 'in') addCheckBefore(node, checkClaimsPresent)
    meterNode(node, meter)
  }
}

/** Compiles the regex once, and charges for each run. */
function boundMatches(node: CelNode, pattern: string, meter: WorkMeter): void {
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

function boundReplace(node: CelNode, pattern: string, meter: WorkMeter): void {
  const replace = createReplacer(pattern, meter)
  node.handle = (values) => {
    const [subject, , by] = values as readonly unknown[]
    return replace(subject, by)
  }
}

function addCheckBefore(node: CelNode, check: (first: unknown, second: unknown) => void): void {
  const { handle } = node
  if (handle === undefined) return
  node.handle = (first, ...rest) => {
    check(first, rest[0])
    return handle(first, ...rest)
  }
}

/** `!("role" in jwt)` must not be true because there is no token. */
function checkClaimsPresent(_left: unknown, right: unknown): void {
  if (right === ABSENT_CLAIMS) throw new CelFault('no_such_key')
}

function checkJoinLength(values: unknown): void {
  const [list, separator] = values as readonly unknown[]
  if (!Array.isArray(list)) return
  let length = typeof separator === 'string' ? separator.length * list.length : 0
  for (const item of list) if (typeof item === 'string') length += item.length
  if (length > MAX_CEL_TEXT) throw new CelFault('too_large')
}

function checkDurationLength(values: unknown): void {
  const [text] = values as readonly unknown[]
  if (typeof text === 'string' && text.length > MAX_DURATION_TEXT) throw new CelFault('conversion')
}

/** In `by`, `$1` to `$9` are the groups of the match, `$0` is the whole match, `$$` a dollar. */
const REFERENCE = /\$([0-9$])/g

/** `text.regexReplace(pattern, by)`: replaces every match of a literal pattern. */
function createReplacer(pattern: string, meter: WorkMeter): (text: unknown, by: unknown) => string {
  const regex = new Regex(pattern, 'part')
  // A search with groups copies their positions at every step.
  const size = regex.size * (regex.groups + 1)
  return (text, by) => {
    if (typeof text !== 'string' || typeof by !== 'string') throw new CelFault('no_such_overload')
    if (text.length > MAX_REGEX_SUBJECT) throw new CelFault('too_large')
    meter.payForSearch(text.length, size)
    let length = text.length
    return regex.replaceAll(text, (groups, offset) => {
      // Each match is another search, which can read to the end of the text.
      meter.payForSearch(text.length - offset, size)
      const replacement = by.replace(REFERENCE, (_, name: string) => {
        if (name === '$') return '$'
        const group = groups[Number(name)]
        return typeof group === 'string' ? group : ''
      })
      // A short text can grow, and a replacement costs its length even if the result is shorter.
      length += Math.max(replacement.length, by.length)
      if (length > MAX_CEL_TEXT) throw new CelFault('too_large')
      return replacement
    })
  }
}
