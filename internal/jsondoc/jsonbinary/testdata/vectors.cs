// Writes vectors.txt, values in binary JSON and what the SDK for .NET makes of them:
//
//     vectors forms.txt > vectors.txt
//
// It calls the internal JsonWriter and JsonNavigator of Microsoft.Azure.Cosmos. A line has three columns,
// parted by tabs: where the bytes come from ("sdk": JsonWriter wrote them, "form": they are a line of
// forms.txt), the bytes in hexadecimal, and the JSON text that JsonNavigator reads in them.

using System.Reflection;
using System.Text;
using System.Text.RegularExpressions;

var cosmos = typeof(Microsoft.Azure.Cosmos.CosmosClient).Assembly;
Type Named(string name) => cosmos.GetType("Microsoft.Azure.Cosmos.Json." + name, true);
var (writerType, navigatorType, optionsType) = (Named("IJsonWriter"), Named("IJsonNavigator"), Named("JsonWriteOptions"));
var formats = Named("JsonSerializationFormat");

object Writer(string format, int options) => Named("JsonWriter").GetMethod("Create", BindingFlags.Public | BindingFlags.Static)
    .Invoke(null, new[] { Enum.Parse(formats, format), Enum.ToObject(optionsType, options), 256, null });
byte[] Result(object writer) => ((ReadOnlyMemory<byte>)writerType.GetMethod("GetResult").Invoke(writer, null)).ToArray();
object Navigator(byte[] bytes) => Named("JsonNavigator").GetMethod("Create", BindingFlags.Public | BindingFlags.Static)
    .Invoke(null, new object[] { (ReadOnlyMemory<byte>)bytes, null });
void Copy(byte[] from, object to)
{
    var navigator = Navigator(from);
    var root = navigatorType.GetMethod("GetRootNode").Invoke(navigator, null);
    navigatorType.GetMethod("WriteNode").Invoke(navigator, new[] { root, to });
}
void Line(string origin, byte[] binary)
{
    var text = Writer("Text", 0);
    try { Copy(binary, text); }
    catch (TargetInvocationException e) { Console.Error.WriteLine($"{Convert.ToHexString(binary)}: {e.InnerException.GetType().Name} {e.InnerException.Message}"); return; }
    // The SDK's text has letters before typed values, which are no JSON; GUIDs and blobs are strings there.
    var json = Regex.Replace(Encoding.UTF8.GetString(Result(text)), "^[GB](.*)$", "\"$1\"");
    json = Regex.Replace(json, "^(I|H|LL|L|UL|S|D)([-0-9])", "$2");
    Console.WriteLine($"{origin}\t{Convert.ToHexString(binary)}\t{json}");
}

var guids = new[] { "f3a613da-16e3-4845-b648-89125478e9a1", "F3A613DA-16E3-4845-B648-89125478E9A1", "00000000-0000-0000-0000-000000000000" };
var texts = new List<string> {
    "null", "true", "false", "0", "31", "32", "-1", "255", "256", "-128", "32767", "32768", "-32768", "-32769", "2147483647", "2147483648",
    "-2147483648", "-2147483649", "9007199254740993", "9223372036854775807", "-9223372036854775808", "1.5", "-2.25", "0.1", "1e300", "5e-324", "-0.0", "0.0",
    "[]", "{}", "[1]", "[[]]", "[{}]", "{\"id\":\"x\"}", "{\"a\":{\"b\":[1,2,{\"c\":null}]}}", "[-0.0,1.5,0]", "\"\"", "\"a\"", "\"é\"", "\"😀 \\u0000 \\\" \\\\ \\n\"",
    "[0.5,1.5,2.5]", "[1,2,3]", "[-1,200]", "[-1,300]", "[1,70000]", "[1,5000000000]", "[0.1,0.2]", "[[1,2],[3,4]]", "[[1.5,2],[3.5,4]]", "[[],[]]", "[[1,2],[3]]", "[[[1,2],[3,4]],[[5,6],[7,8]]]",
    "[1,\"a\"]", "[18446744073709551615]", "18446744073709551615", "{\"vector\":[0.25,-0.5,1,2.5]}", "[" + string.Join(",", Enumerable.Range(0, 300)) + "]",
    "[" + string.Join(",", Enumerable.Range(0, 300).Select(i => $"[{i},{i + 1}]")) + "]",
};
foreach (var id in guids)
    foreach (var s in new[] { id, "\\\"" + id + "\\\"", id + "x", id.Replace("-", ""), id[..35] }) texts.Add($"\"{s}\"");
foreach (var s in new[] {
    "$s", "$t", "$v", "_attachments", "_etag", "_rid", "_self", "_ts", "attachments/", "coordinates", "geometry", "GeometryCollection", "id", "url", "Value", "label",
    "LineString", "link", "MultiLineString", "MultiPoint", "MultiPolygon", "name", "Name", "Type", "Point", "Polygon", "properties", "type", "value", "Feature", "FeatureCollection", "_id",
    "1a2b3c4d", "1A2B3C4D", "0123456789abcdef0", "0123456789ABCDEF0", "2024-01-02T03:04:05.6789012Z", "2024-01-02", "12:30 - 13:45:00.5", "0123456789012345", "ABCDEFGHIJKLMNOPQ",
    "abcabcabcabcabcabc", "HELLO WORLD, HELLO ALL", "the quick brown fox jumps over the lazy dog", "The Quick Brown Fox; 0.5 = 1/2!", "dbs/1/colls/2/docs/3/",
    "aGVsbG8gd29ybGQgYW5kIGFsbA==", "aGVsbG8gd29ybGQgYW5kIGFsbCE=", "aGVsbG8gd29ybGQgYW5kIGFsbCEh", "_-_-aGVsbG8gd29ybGQgYW5kIGFsbA==", "+/+/aGVsbG8gd29ybGQgYW5kIGFsbA",
    "_-_-aGVsbG8gd29ybGQgYW5kIGFsbA", "ÄÖÜäöüß straße", "日本語のテキスト",
}) texts.Add($"\"{s}\"");
foreach (var n in new[] { 63, 64, 127, 128, 255, 256, 65535, 65536 })
    foreach (var letter in new[] { "a", "é", "7", "Z", "x~" }) texts.Add("\"" + string.Concat(Enumerable.Repeat(letter, n / letter.Length)) + "\"");
foreach (var n in new[] { 66, 67, 68, 300, 900 }) // base64 of both alphabets, with and without padding
{
    var s = Convert.ToBase64String(Enumerable.Range(0, n).Select(i => (byte)(i * 37 + n)).ToArray());
    foreach (var one in new[] { s, s.TrimEnd('='), s.Replace('+', '-').Replace('/', '_'), s.Replace('+', '-').Replace('/', '_').TrimEnd('=') }) texts.Add($"\"{one}\"");
}
foreach (var n in new[] { 2, 40, 300 }) // names and values that repeat are references
    texts.Add("[" + string.Join(",", Enumerable.Range(0, n).Select(i => $"{{\"a long name\":\"a long value\",\"other\":\"{(char)('a' + i % 26)}{guids[0]}\",\"n\":{i}.5}}")) + "]");
foreach (var n in new[] { 10, 90, 9000 }) texts.Add("{" + string.Join(",", Enumerable.Range(0, n).Select(i => $"\"p{i}\":{i}")) + "}");

var written = new HashSet<string>();
for (var options = 0; options < 8; options++)
    foreach (var text in texts)
    {
        var writer = Writer("Binary", options);
        Copy(Encoding.UTF8.GetBytes(text), writer);
        var binary = Result(writer);
        if (written.Add(Convert.ToHexString(binary)) && binary.Length < 3000) Line("sdk", binary);
    }
foreach (var value in new object[] { (sbyte)-5, (short)-1000, -70000, -5000000000L, 1.5f, -2.25, -0.0, 4294967294u, Guid.Parse(guids[0]), 18446744073709551614ul })
{
    var writer = Writer("Binary", 2);
    var names = new Dictionary<Type, string> {
        [typeof(sbyte)] = "Int8", [typeof(short)] = "Int16", [typeof(int)] = "Int32", [typeof(long)] = "Int64", [typeof(float)] = "Float32",
        [typeof(double)] = "Float64", [typeof(uint)] = "UInt32", [typeof(Guid)] = "Guid", [typeof(ulong)] = "Number",
    };
    writerType.GetMethods().Single(m => m.Name == "Write" + names[value.GetType()] + "Value" && m.GetParameters()[0].ParameterType == value.GetType()).Invoke(writer, new[] { value });
    Line("sdk", Result(writer));
}
foreach (var value in new object[] {
    new byte[] { 0, 127, 255 }, new sbyte[] { -128, 0, 127 }, new short[] { -32768, 1 }, new[] { int.MinValue, 7 }, new[] { long.MinValue, 7 }, new[] { 1.5f, -0.25f },
    new[] { 0.1, -2.25 }, new byte[300], Enumerable.Range(0, 300).Select(i => (short)(i * 100)).ToArray(), new float[0],
})
{
    var element = value.GetType().GetElementType();
    foreach (var options in new[] { 0, 1 })
        foreach (var nested in new[] { 0, 2 })
        {
            var writer = Writer("Binary", options);
            if (nested > 0) writerType.GetMethod("WriteArrayStart").Invoke(writer, null);
            for (var i = 0; i < Math.Max(1, nested); i++)
                writerType.GetMethods().Single(m => m.Name == "WriteNumberArray" && m.GetParameters()[0].ParameterType.GetGenericArguments()[0] == element).Invoke(writer, new[] { value });
            if (nested > 0) writerType.GetMethod("WriteArrayEnd").Invoke(writer, null);
            Line("sdk", Result(writer));
        }
}
foreach (var line in File.ReadAllLines(args[0]))
    if (line != "") Line("form", Convert.FromHexString(line.Replace(" ", "")));
