// `text.regexReplace(pattern, by)`: replaces every match of a pattern that is literal in the expression.

import { MAX_REGEX_SUBJECT, Regex } from '../regex.ts'
import { MAX_TEXT } from './bounds.ts'
import { CelFault } from './errors.ts'
import type { Meter } from './meter.ts'

/** `$1` to `$9` in `by` are what the groups matched, `$0` is the whole, `$$` a dollar. */
const REFERENCE = /\$([0-9$])/g

export function replacer(pattern: string, meter: Meter): (text: unknown, by: unknown) => string {
  const regex = new Regex(pattern, 'part')
  // The search that finds groups copies their positions with every step.
  const size = regex.size * (regex.groups + 1)
  return (text, by) => {
    if (typeof text !== 'string' || typeof by !== 'string') throw new CelFault('no_such_overload')
    if (text.length > MAX_REGEX_SUBJECT) throw new CelFault('too_large')
    meter.payForSearch(text.length, size)
    let length = text.length
    return regex.replaceAll(text, (groups, offset) => {
      // Each match is a search of its own, which can read to the end of the text.
      meter.payForSearch(text.length - offset, size)
      const put = by.replace(REFERENCE, (_, name: string) => {
        if (name === '$') return '$'
        const group = groups[Number(name)]
        return typeof group === 'string' ? group : ''
      })
      // A short text can grow, and what is put costs its length even where nothing comes of it.
      length += Math.max(put.length, by.length)
      if (length > MAX_TEXT) throw new CelFault('too_large')
      return put
    })
  }
}
