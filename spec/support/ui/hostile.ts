// Values of people who mean no good, to be shown as the text they are. Whichever runs leaves its mark at `window.hacked`.

export const SCRIPT = '<script>window.hacked=1</script>'
export const IMAGE = '"><img src=x onerror=window.hacked=2>'
export const LINK = 'javascript:window.hacked=3'
/** The rest of what is written turns around in an editor that obeys it. */
export const TURNED = 'cod\u202Eexe.txt'
/** Also names that every object has. */
export const KEYS = [IMAGE, '__proto__', 'constructor'] as const

/** What a picture may not do either. */
export const PICTURE = `<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked=4" width="8" height="8"><script>window.hacked=5</script></svg>`
