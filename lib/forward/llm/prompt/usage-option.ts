// `stream_options` with `include_usage` set, all else in it left as it was written.

import { edited } from '../../../base/json/edit.ts'
import { membersOf, valueOf } from '../../../base/json/scan.ts'
import { folded } from './watched.ts'

const NAME = 'include_usage'
const MEMBER = `"${NAME}":true`
const OPEN_BRACE = 123

/** What it is where the request has no options. */
export const USAGE_OPTION = `{${MEMBER}}`

/** The most that asking can add to a body: the member as a whole, with a comma. */
export const MOST_USAGE_BYTES = `,"stream_options":${USAGE_OPTION}`.length

/** What the options say themselves; null if nothing, or nothing that can be understood. */
export function includeUsageIn(options: Buffer): boolean | null {
  const value: unknown = JSON.parse(options.toString())
  if (typeof value !== 'object' || value === null) return null
  const said = (value as Record<string, unknown>)[NAME]
  return typeof said === 'boolean' ? said : null
}

/** Whether readers of JSON may differ about what they say: of several the last counts to most, but not to all. */
export function isUnclear(options: Buffer): boolean {
  const value = valueOf(options)
  if (value === null) return false
  const said = membersOf(options, value).filter(({ key }) => folded(key) === NAME)
  return said.length > 1 || said.some(({ key }) => key !== NAME)
}

/** The options with usage asked for, which `isUnclear` has passed; null if they do so already, or are no options at all. */
export function withUsage(options: Buffer): string | null {
  if (includeUsageIn(options) === true) return null
  const value = valueOf(options)
  if (value === null) return null
  if (options.toString() === 'null') return USAGE_OPTION
  if (options[value.from] !== OPEN_BRACE) return null
  const members = membersOf(options, value)
  const said = members.find(({ key }) => key === NAME)
  const edit =
    said === undefined
      ? { from: 1, to: 1, text: members.length === 0 ? MEMBER : `${MEMBER},` }
      : { from: said.from, to: said.to, text: 'true' }
  return edited(options, [edit]).toString()
}
