// Lists words that make a sentence hard to read, as `file:line: "word": what to write instead`. Part of `npm run lint`.
// It reads whole files: comments, texts and names. A use that is right goes to ALLOWED, as the phrase it is part of.

import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const WORDS = [
  [/\bwho(?:m?ever)\b/gi, 'name the role: the client, the caller, the operator'],
  [/\b(?:no|some|any|every)body\b/gi, 'name the role: no client, a caller, every user'],
  [
    /(?<![-/]|\b(?:users?|people|operators?|engineers?|readers?|attackers?|those) )\bwho\b(?!-)/gi,
    'name the role',
  ],
  [/\bbehind\b/gi, '"after" in time or order; "next to", "at the end of" in space'],
  [/\bbeside\b/gi, '"next to" or "in parallel with"'],
  [/\bstands?\b(?!-)/gi, '"is", "is set", "is configured"'],
  [/\b(?:guest|stranger|goodbye)s?\b/gi, 'client, caller, unknown peer, closing response'],
  [/\b(?:left|leaves?|leaving)\s+alone\b/gi, '"in cooldown", "unchanged"'],
  [/\b(?:lets?|letting)\s+(?:in|go)\b/gi, '"accepts", "admits"; "releases", "cancels"'],
  [/\bfor\s+want\s+of\b/gi, '"because … is missing"'],
  [/\banew\b/gi, '"again"'],
  [/\b(?:rubbish|errands?|glean(?:s|ed)?)\b/gi, 'the technical noun or verb'],
]

/** Phrases in which a word above is the right one. */
const ALLOWED = [
  /\bbehind (?:an?|the|another|its|your) (?:[\w-]+ )?(?:prox(?:y|ies)|balancer|firewall|NAT|token|login)\b/gi,
  /\bbehind (?:prox(?:y|ies)|NAT|TLS)\b/gi,
  /\b(?:left|leaves?|leaving) (?:\w+ ){0,3}behind\b/gi,
  /\bstands? for\b/gi,
  /\bwho (?:may|can)\b/gi,
]

/** Test data and member access: `'nobody'`, `'nobody:secret'`, `?who=x`, `jwt.who`. */
const DATA = /(['"`])[\w-]+\1|['"`]\w+:(?=\w)|[?&'"`]\w+=|(?<=\w)\.\w+/g

const ROOTS = ['bin', 'lib', 'spec', 'conformance', 'perf', 'schema', 'docs', 'examples', '.ci']
const TEXT_FILE = /\.(?:ts|mjs|css|html|md|yaml)$/
/** This file and its spec quote the words; CEL's own test data and licences are not ours. */
const SKIPPED = /^(?:lint-words\.mjs|spec\/lint-words\.spec\.ts)$|(?:^|\/)(?:fixtures|LICENSE)\b/

/** The same text with as many lines, without what is not prose of ours: comment marks, allowed phrases, wire bytes of a case. */
function proseOf(path, text) {
  const blank = (found) => found.replace(/[^\n]/g, ' ')
  let prose = text.replace(/^[ \t]*(?:\/\/|\/?\*+|#+|>)(?= )/gm, blank)
  if (path.startsWith('conformance/cases/')) prose = prose.replace(/^```[^]*?^```/gm, blank)
  if (!path.endsWith('.md')) prose = prose.replace(DATA, blank)
  // A phrase may be broken over two lines of a comment.
  prose = prose.replace(/\n[ \t]+(?=\S)/g, (found) => `\n${' '.repeat(found.length - 1)}`)
  for (const phrase of ALLOWED)
    prose = prose.replace(new RegExp(phrase.source.replaceAll(' ', '\\s+'), phrase.flags), blank)
  return prose
}

function problemsOf(path, text) {
  const prose = proseOf(path, text)
  return WORDS.flatMap(([word, instead]) =>
    [...prose.matchAll(word)].map((found) => {
      const line = prose.slice(0, found.index).split('\n').length
      return { path, line, at: found.index, text: `"${found[0].replace(/\s+/g, ' ')}": ${instead}` }
    }),
  ).sort((a, b) => a.at - b.at)
}

/** The given files and folders, or all of the project. */
function filesOf(paths) {
  const starts = paths.length > 0 ? paths : [...ROOTS, ...readdirSync('.')]
  const files = starts.flatMap((start) => {
    if (!statSync(start, { throwIfNoEntry: false })?.isDirectory()) return [start]
    if (paths.length === 0 && !ROOTS.includes(start)) return []
    return readdirSync(start, { recursive: true, encoding: 'utf8' }).map((name) =>
      join(start, name),
    )
  })
  return [...new Set(files)].filter((path) => TEXT_FILE.test(path) && !SKIPPED.test(path))
}

const problems = filesOf(process.argv.slice(2)).flatMap((path) =>
  problemsOf(path, readFileSync(path, 'utf8')),
)
for (const { path, line, text } of problems) process.stdout.write(`${path}:${line}: ${text}\n`)
if (problems.length > 0) {
  process.stderr.write(`${problems.length} words to replace; CONTRIBUTING.md has the rules\n`)
  process.exitCode = 1
}
