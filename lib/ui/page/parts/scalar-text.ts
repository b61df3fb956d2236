// A single value of JSON as YAML would write it.

/** What YAML would not read as the text that it is. */
const SIGNS = /^$|^[\s\-?:,[\]{}#&*!|>'"%@`]|:\s|\s#|[\s:]$/
const WORDS = /^(?:true|false|null|yes|no|on|off|~)$/i
const NUMBERS = /^[-+]?(?:0x[\da-f]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:e[-+]?\d+)?|\.inf|\.nan)$/i

/** A text is quoted where it could be taken for something else; one of several lines stands as it is. */
export function scalarText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'null'
  if (value.includes('\n')) return value
  const isOdd = SIGNS.test(value) || WORDS.test(value) || NUMBERS.test(value)
  return isOdd ? JSON.stringify(value) : value
}
