// The text of an expression as it is shown: what one compares a credential with is one, too.

import { shownValue } from '../redact/lines.ts'
import { isSecretHeader, isSecretSetting, REDACTED } from '../redact/names.ts'
import type { Hidden } from '../redact/names.ts'

type Names = Pick<Hidden, 'headers'>

/** A text in quotes: of three, or of one that ends on its line. */
const LITERAL =
  /\br"""[^]*?"""|\br'''[^]*?'''|\br"[^"\n]*"|\br'[^'\n]*'|"""(?:[^"\\]|\\[^]|"(?!""))*"""|'''(?:[^'\\]|\\[^]|'(?!''))*'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/gi

/** Names an expression reads; what is known about an API key is not the key. */
const WORDS = /(?<![\w-])(?!apiKey(?![\w-]))[\w-]+/g

/** A header whose name is not written out may be any. */
const COMPUTED = /headers\s*\[(?!\s*r?(?:"[^"]*"|'[^']*')\s*\])/

/** The name of a member, behind its dot; and that the API key itself is read. */
const MEMBER = /\.\s*([a-z_]\w*)/gi
const OWN_KEY = /\bapiKey\s*(?:\.\s*key\b|\[\s*["']key["']\s*\])/

/** What stands before and behind a text that names a member. */
const BEFORE_INDEX = /(?:(?!\bin\b)\b\w+|[)\]])\s*\[\s*$/
const BEHIND_INDEX = /^\s*\]/

/** Without texts where it reads a credential, but for names of members. */
export function shownExpression(source: string, names: Names): string {
  const isHidden = readsCredential(source, names)
  return source.replace(LITERAL, (literal: string, at: number) => {
    if (isIndex(source, at, literal.length)) return literal
    const mark = /^r?("""|'''|"|')/i.exec(literal)!
    const text = literal.slice(mark[0].length, literal.length - mark[1]!.length)
    if (text === '' || names.headers.has(text.toLowerCase())) return literal
    return mark[0] + (isHidden ? REDACTED : shownValue(text)) + mark[1]
  })
}

/** Whether its value may be a credential, or part of one. */
export function comesToCredential(source: string, names: Names): boolean {
  const words = source.match(WORDS) ?? []
  return COMPUTED.test(source) || words.some((word) => isSecretSetting(word, names))
}

function readsCredential(source: string, names: Names): boolean {
  if (COMPUTED.test(source) || OWN_KEY.test(source)) return true
  const bare = source.replace(LITERAL, '""')
  if ([...bare.matchAll(MEMBER)].some(([, name]) => isSecret(name!, names))) return true
  return [...source.matchAll(LITERAL)].some(({ 0: literal, index }) => {
    const text = literal.replace(/^r?["']+|["']+$/g, '')
    if (names.headers.has(text.toLowerCase())) return true
    return isIndex(source, index, literal.length) && isSecret(text, names)
  })
}

function isSecret(name: string, names: Names): boolean {
  return isSecretHeader(name.toLowerCase(), names)
}

function isIndex(source: string, at: number, length: number): boolean {
  const before = source.slice(Math.max(0, at - 80), at)
  return BEFORE_INDEX.test(before) && BEHIND_INDEX.test(source.slice(at + length, at + length + 80))
}
