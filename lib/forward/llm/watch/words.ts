// Tells at a glance that a stretch of an event stream holds nothing worth parsing: by the words that would have to be in it.

const NEWLINE = '\n'
const SPACE = ' '
const TAB = '\t'
const RETURN = '\r'

/** Whether one of the words is there, other than as the name of a member that is null. */
export function hasWord(text: string, words: readonly string[]): boolean {
  for (const word of words) {
    let at = text.indexOf(word)
    while (at >= 0) {
      if (!isNull(text, at + word.length)) return true
      at = text.indexOf(word, at + word.length)
    }
  }
  return false
}

/** OpenAI sends `"usage":null` in every chunk but the last, once it was asked for usage. */
function isNull(text: string, behind: number): boolean {
  const colon = spaceEnd(text, behind)
  return text[colon] === ':' && text.startsWith('null', spaceEnd(text, colon + 1))
}

function spaceEnd(text: string, from: number): number {
  let at = from
  while (isSpace(text[at])) at++
  return at
}

function isSpace(letter: string | undefined): boolean {
  return letter === SPACE || letter === NEWLINE || letter === RETURN || letter === TAB
}
