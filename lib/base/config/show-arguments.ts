// Which arguments of a program are shown: flags, and words that name a program, a package or a file. Any other may be
// a credential, whatever stands before it.

import { REDACTED } from '../redact/names.ts'

/** `-y`, `--name`: without a value. */
const FLAG = /^(?:-[a-z]{1,3}|--[a-z][\w.-]{0,39}|--)$/i
const FLAG_WITH_VALUE = /^(--?[a-z][\w.-]{0,39})=/i

/** What stands behind any other flag is its value. */
const WITHOUT_VALUE = new Set([
  ...['-y', '--yes', '-q', '--quiet', '--offline', '--prefer-offline', '--package', '--from'],
  ...['-i', '-t', '-it', '--interactive', '--rm', '--init', '-jar', '-m', '--module'],
  ...['--directory', '--'],
])

/** A word, a package with its version, a path. */
const NAME = /^(?!-)(?:[@.~]?\/|@|\.{1,2}\/|)[\w./@:+-]{1,200}$/
/** What those are made of: letters, and some digits behind them. Credentials are longer, or mix them. */
const PART = /^[a-z]{0,24}\d{0,4}$/
const PART_OF_PATH = /^[a-z]{0,24}\d{0,4}$/i

/** `name:password`; a version is no password. */
const PAIR = /:(?!v?\d|latest$)/
const ORIGIN = /^[a-z]{1,20}:\/\/[a-z\d.-]{1,253}(?::\d{1,5})?\/?$/i

/** Where a program is told to go; what is behind the host may be a credential. */
const URL_OF = /^([a-z][a-z+.-]{0,20}:\/\/[a-z\d.-]{1,253}(?::\d{1,5})?)(?:[/?#]|$)/i

export function shownArguments(args: readonly string[]): string[] {
  return args.map((text, at) => shown(text, args[at - 1]))
}

/** Those that are not shown whole. */
export function hiddenArguments(args: readonly string[]): string[] {
  const all = shownArguments(args)
  return args.filter((text, at) => text !== all[at])
}

/** Whether it is made of words, as names and paths are. */
export function isPlainName(text: string): boolean {
  if (text.includes('://')) return ORIGIN.test(text)
  if (!NAME.test(text) || PAIR.test(text)) return false
  const part = /^[.~]{0,2}\//.test(text) ? PART_OF_PATH : PART
  return text.split(/[^a-z\d]/i).every((piece) => part.test(piece))
}

function shown(text: string, before: string | undefined): string {
  if (FLAG.test(text)) return text
  const flag = FLAG_WITH_VALUE.exec(text)
  if (flag !== null) return `${flag[1]}=${REDACTED}`
  if (before !== undefined && FLAG.test(before) && !WITHOUT_VALUE.has(before)) return REDACTED
  if (isPlainName(text)) return text
  // A name or a password may have any sign in it.
  const url = text.includes('@') ? null : URL_OF.exec(text)
  return url === null ? REDACTED : `${url[1]}/${REDACTED}`
}
