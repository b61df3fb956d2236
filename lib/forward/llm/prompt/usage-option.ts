// `stream_options` with `include_usage` set, all else in it left as it was written.

import { edited } from '../../../base/json/edit.ts'
import { membersOf, valueOf } from '../../../base/json/scan.ts'

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

/** The options with usage asked for; null if they do so already, speak of it twice, or are no options at all. */
export function withUsage(options: Buffer): string | null {
  if (includeUsageIn(options) === true) return null
  const value = valueOf(options)
  if (value === null) return null
  if (options.toString() === 'null') return USAGE_OPTION
  if (options[value.from] !== OPEN_BRACE) return null
  const members = membersOf(options, value)
  const said = members.filter(({ key }) => key === NAME)
  if (said.length > 1) return null
  const edit =
    said[0] === undefined
      ? { from: 1, to: 1, text: members.length === 0 ? MEMBER : `${MEMBER},` }
      : { from: said[0].from, to: said[0].to, text: 'true' }
  return edited(options, [edit]).toString()
}
