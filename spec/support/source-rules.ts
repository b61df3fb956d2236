// The rules of the house, as functions over source text: who may import whom, no cycles, short files and functions.
// `import type` counts for layers, as it ties two places together; for cycles it does not: it is gone after the build.

import { dirname, posix } from 'node:path'

export interface SourceFile {
  /** From the root, with slashes: `lib/relay/relay.ts`. */
  readonly path: string
  readonly text: string
}

interface Import {
  readonly to: string
  readonly isType: boolean
}

const MOST_LINES = 500
const MOST_FUNCTION_LINES = 60

/**
 * The folders of lib/ from the bottom up. A folder may import those of the levels below its own. `lib/serve.ts` and
 * `lib/gateway.ts` are levels of their own, and so is `config/live`, which connects the configuration to all other code.
 */
const LEVELS: readonly (readonly string[])[] = [
  ['text', 'trace-view'],
  ['core'],
  ['http'],
  ['expressions'],
  ['config'],
  ['trace'],
  ['accept', 'choose', 'enforce', 'forward', 'relay', 'settle', 'admin'],
  ['page', 'ctl'],
  ['config/live'],
  ['serve.ts'],
  ['gateway.ts'],
  ['processes'],
  ['bin'],
]

/** What runs in a browser imports only this, and types of the page's API. */
const PAGE_API_TYPES = 'lib/admin/page-api/page-api-types.ts'

const STATEMENT = /^(?:import|export)\s+(type\s)?(?:[\w\s{},*$]*\sfrom\s+)?['"](\.[^'"]+)['"]/gm
const DYNAMIC = /\bimport\(\s*['"](\.[^'"]+)['"]/g

/** Relative imports, as paths from the root. */
export function importsOf({ path, text }: SourceFile): Import[] {
  const at = (target: string): string => posix.join(dirname(path), target)
  const found: Import[] = []
  for (const [, type, target = ''] of text.matchAll(STATEMENT))
    found.push({ to: at(target), isType: type !== undefined })
  for (const [, target = ''] of text.matchAll(DYNAMIC))
    found.push({ to: at(target), isType: false })
  return found
}

export function layerProblems(files: readonly SourceFile[]): string[] {
  const problems: string[] = []
  for (const file of files) {
    const from = unitOf(file.path)
    if (levelOf(from) < 0) problems.push(`${file.path} is in no known layer`)
    for (const { to } of importsOf(file))
      if (!mayImport(from, to)) problems.push(`${file.path} may not import ${to}`)
  }
  return problems
}

/** The folder, or the file directly in lib/, that a rule is about. */
function unitOf(path: string): string {
  const [top = '', folder = '', second = ''] = path.split('/')
  if (top !== 'lib') return top
  return folder === 'config' && second === 'live' ? 'config/live' : folder
}

function levelOf(unit: string): number {
  return LEVELS.findIndex((level) => level.includes(unit))
}

function mayImport(from: string, path: string): boolean {
  const to = unitOf(path)
  if (to === from) return true
  if (from === 'page') return to === 'trace-view' || path === PAGE_API_TYPES
  const level = levelOf(to)
  return level >= 0 && level < levelOf(from)
}

/** Every cycle found, as `a → b → a`. */
export function cycleProblems(files: readonly SourceFile[]): string[] {
  const targets = new Map(
    files.map((file) => [
      file.path,
      importsOf(file)
        .filter(({ isType }) => !isType)
        .map(({ to }) => to),
    ]),
  )
  const problems: string[] = []
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path)
    if (at >= 0) return void problems.push([...trail.slice(at), path].join(' → '))
    if (done.has(path)) return
    for (const to of targets.get(path) ?? []) visit(to, [...trail, path])
    done.add(path)
  }
  for (const path of targets.keys()) visit(path, [])
  return problems
}

/** Entry points of threads, and declarations: nothing imports them. */
const IMPORTED_BY_NONE = new Set([
  'lib/admin/pprof/profile-worker.ts',
  'lib/enforce/auth/hash-worker.ts',
  'lib/http/globals.d.ts',
])

/** A file of lib/ that is shorter than this belongs to its only importer. */
const SHORT_FILE_LINES = 40

/** Short files of lib/ with fewer than two importers. */
export function shortFileProblems(files: readonly SourceFile[]): string[] {
  const importers = new Map<string, number>()
  for (const file of files)
    for (const to of new Set(importsOf(file).map((found) => found.to)))
      importers.set(to, (importers.get(to) ?? 0) + 1)
  return files
    .filter(({ path, text }) => {
      if (!path.startsWith('lib/') || path.startsWith('lib/page/')) return false
      if (IMPORTED_BY_NONE.has(path)) return false
      return text.trimEnd().split('\n').length < SHORT_FILE_LINES && (importers.get(path) ?? 0) < 2
    })
    .map(({ path }) => `${path} is short and has fewer than two importers`)
}

/** Files of lib/ that an editor would show by the same name. */
export function fileNameProblems(files: readonly SourceFile[]): string[] {
  const paths = new Map<string, string>()
  const problems: string[] = []
  for (const { path } of files) {
    const name = posix.basename(path)
    const other = paths.get(name)
    if (other !== undefined) problems.push(`${path} has the name of ${other}`)
    paths.set(name, path)
  }
  return problems
}

export function lengthProblems(files: readonly SourceFile[]): string[] {
  const problems: string[] = []
  for (const { path, text } of files) {
    const lines = text.trimEnd().split('\n').length
    if (lines > MOST_LINES) problems.push(`${path} has ${lines} lines, at most ${MOST_LINES}`)
  }
  return problems
}

/** The first line, behind a shebang, says what a file is for. */
export function openingProblems(files: readonly SourceFile[]): string[] {
  const isOpened = ({ text }: SourceFile): boolean => /^(?:#!.*\n)?\/\/ \S/.test(text)
  return files
    .filter((file) => !isOpened(file))
    .map(({ path }) => `${path} does not open with a comment`)
}

const OPENS = /^( *)(?!.*\b(?:if|for|while|switch|catch)\b \().*(?:\)(?:: .+)?|=>) \{$/

/** By indentation, which prettier keeps: from the line that opens a function to the brace below its first letter. */
export function functionProblems(files: readonly SourceFile[]): string[] {
  const problems: string[] = []
  for (const { path, text } of files) {
    const lines = text.split('\n')
    lines.forEach((line, index) => {
      const indent = OPENS.exec(line)?.[1]
      if (indent === undefined) return
      const end = lines.findIndex((other, at) => at > index && other.startsWith(`${indent}}`))
      const length = end - index + 1
      if (length > MOST_FUNCTION_LINES)
        problems.push(`${path}:${index + 1} is a function of ${length} lines`)
    })
  }
  return problems
}
