// All of them in one process, one after the other.
import "./answering.test.mjs";
import "./live.test.mjs";
import "./looks.test.mjs";
import "./text.test.mjs";
