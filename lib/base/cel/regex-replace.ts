// `text.regexReplace(pattern, by)`: every match of a pattern that was judged when the expression was compiled.

import { MAX_REGEX_SUBJECT } from '../regex/safety.ts'
import { MAX_TEXT } from './bounds.ts'
import { CelFault } from './errors.ts'

/** `$1` to `$9` in `by` are what the groups matched, `$0` is the whole, `$$` a dollar. */
const REFERENCE = /\$([0-9$])/g

export function replacer(pattern: string): (text: unknown, by: unknown) => string {
  const regex = new RegExp(pattern, 'gu')
  return (text, by) => {
    if (typeof text !== 'string' || typeof by !== 'string') throw new CelFault('no_such_overload')
    if (text.length > MAX_REGEX_SUBJECT) throw new CelFault('too_large')
    let length = text.length
    return text.replace(regex, (...match: unknown[]) => {
      const put = by.replace(REFERENCE, (_, name: string) => {
        if (name === '$') return '$'
        const group = match[Number(name)]
        return typeof group === 'string' ? group : ''
      })
      // A short text can grow, and what is put costs its length even where nothing comes of it.
      length += Math.max(put.length, by.length)
      if (length > MAX_TEXT) throw new CelFault('too_large')
      return put
    })
  }
}
