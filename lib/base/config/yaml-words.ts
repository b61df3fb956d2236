// Words for what a YAML parser refuses. Its own would repeat the text they stumble over, which may be a secret.

import type { Document, ErrorCode, YAMLError } from 'yaml'

const WORDS: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'an alias with an anchor or a tag of its own',
  BAD_ALIAS: 'an alias without a proper name (quote text that begins with *)',
  BAD_COLLECTION_TYPE: 'a list or an object with a tag of another kind',
  BAD_DIRECTIVE: 'a directive (%) that is not known or not complete',
  BAD_DQ_ESCAPE: 'an escape that double quotes do not know (use single quotes for a plain \\)',
  BAD_INDENT: 'wrong indentation, or a bracket before it that is not closed',
  BAD_PROP_ORDER: 'an anchor or a tag in the wrong place',
  BAD_SCALAR_START: 'text that begins with a reserved character (quote it)',
  BLOCK_AS_IMPLICIT_KEY: 'an object or a list where only a value can stand (quote text with `: `)',
  BLOCK_IN_FLOW: 'a list or an object by indentation inside brackets',
  DUPLICATE_KEY: 'a second key of the same name in one object',
  IMPOSSIBLE: 'something that cannot be read',
  KEY_OVER_1024_CHARS: 'a key of more than 1024 characters',
  MISSING_CHAR: 'a comma, colon, dash, line break or closing bracket is missing here or before it',
  MULTILINE_IMPLICIT_KEY: 'a key over several lines, or a line without its colon',
  MULTIPLE_ANCHORS: 'two anchors of one value (quote text that begins with &)',
  MULTIPLE_DOCS: 'another document',
  MULTIPLE_TAGS: 'two tags of one value (quote text that begins with !)',
  NON_STRING_KEY: 'a key that is not text',
  RESOURCE_EXHAUSTION: 'more nesting than can be read',
  TAB_AS_INDENT: 'a tab, expected spaces',
  TAG_RESOLVE_FAILED: 'a tag that is not known (quote text that begins with !)',
  UNEXPECTED_TOKEN: 'something that has no place here',
}

/** By the parser's name for it; never text of the file. */
const TOKENS: Readonly<Record<string, string>> = {
  'flow-map-start': "unexpected '{'",
  'flow-map-end': "unexpected '}'",
  'flow-seq-start': "unexpected '['",
  'flow-seq-end': "unexpected ']'",
  'seq-item-ind': "unexpected '-'",
  'map-value-ind': "unexpected ':'",
  'explicit-key-ind': "unexpected '?'",
  comma: "unexpected ','",
  scalar: 'unexpected text',
  'single-quoted-scalar': 'unexpected text in quotes',
  'double-quoted-scalar': 'unexpected text in quotes',
}

/** What is wrong with one document: behind the first slip of its syntax all else follows from it, and is not told. */
export function slipsOf({ errors, warnings }: Document.Parsed): readonly YAMLError[] {
  const [first] = errors.filter(({ code }) => code !== 'DUPLICATE_KEY')
  return first === undefined ? [...errors, ...warnings] : [first]
}

export function yamlWords({ code, message }: YAMLError): string {
  if (code === 'UNEXPECTED_TOKEN') {
    const [, token = ''] = /^Unexpected ([a-z-]+)\b/.exec(message) ?? []
    return TOKENS[token] ?? WORDS[code]
  }
  if (code === 'MISSING_CHAR' && /^Missing closing .quote$/.test(message))
    return 'a quote before it that is not closed'
  return WORDS[code]
}
