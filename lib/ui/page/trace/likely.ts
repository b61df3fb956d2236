// A request for which an expression holds, as far as that is plain to see, as a command that sends it. Pure.

import { shellWord } from '../../../trace-view/curl-command.ts'

const TEXT = '("(?:[^"\\\\]|\\\\.)*")'
const METHOD = new RegExp(`^request\\.method == ${TEXT}$`)
const PATH = new RegExp(`^request\\.path(?: == ${TEXT}|\\.startsWith\\(${TEXT}\\))$`)
const HEADER = new RegExp(`^request\\.headers\\[${TEXT}\\] == ${TEXT}$`)

/** `root` asks for `/`; null where the expression asks for more than a command can promise. */
export function curlLike(root: string, expression: string): string | null {
  let path = '/'
  const words: string[] = []
  for (const part of expression.split('&&').map((one) => one.trim())) {
    if (part === '') continue
    const [, method] = METHOD.exec(part) ?? []
    const [, exact, prefix] = PATH.exec(part) ?? []
    const [, name, value] = HEADER.exec(part) ?? []
    const wanted = textOf(exact ?? prefix)
    if (method !== undefined) words.push(`-X ${shellWord(textOf(method))}`)
    else if (wanted.startsWith('/')) path = wanted
    else if (name !== undefined) words.push(`-H ${shellWord(`${textOf(name)}: ${textOf(value)}`)}`)
    else return null
  }
  const at = root.lastIndexOf(' ') + 1
  const url = root.slice(at).replace(/\/$/, '') + encodeURI(path)
  return [
    root.slice(0, at).trim(),
    ...words.filter((word) => word !== '-X GET'),
    shellWord(url),
  ].join(' ')
}

function textOf(literal: string | undefined): string {
  try {
    return JSON.parse(literal ?? '""') as string
  } catch {
    return ''
  }
}
